package simulation

func newProvisioning(w *World) scene { return nil }
