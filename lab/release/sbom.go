package release

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/CycloneDX/cyclonedx-gomod/pkg/generate/bin"
	"github.com/google/uuid"
	"github.com/rs/zerolog"
)

// sbomSuffix is the suffix of the names of bills of materials of programs.
const sbomSuffix = ".cdx.json"

// WriteSBOMs writes a software bill of materials next to each program of a release in directory.
func WriteSBOMs(directory, version string) error {
	programs, err := programsIn(directory, mainProgram+"-")
	if err != nil {
		return err
	}
	plugins, err := programsIn(directory, pluginProgram+"-")
	if err != nil {
		return err
	}
	for _, program := range slices.Concat(programs, plugins) {
		content, err := SBOM(program, version)
		if err != nil {
			return err
		}
		// #nosec G306 -- for everyone to read
		if err := os.WriteFile(program+sbomSuffix, content, 0o644); err != nil {
			return fmt.Errorf("writing the SBOM of %s: %w", filepath.Base(program), err)
		}
	}
	return nil
}

// SBOM returns the software bill of materials of a program, as CycloneDX JSON: the modules that it
// was built from, by the build information in it. It has no time and no random number, so that the
// same program has the same bill of materials.
func SBOM(program, version string) ([]byte, error) {
	generator, err := bin.NewGenerator(program, bin.WithVersionOverride(version), bin.WithIncludeStdlib(true), bin.WithLogger(zerolog.Nop()))
	if err != nil {
		return nil, fmt.Errorf("preparing the SBOM of %s: %w", filepath.Base(program), err)
	}
	bom, err := generator.Generate()
	if err != nil {
		return nil, fmt.Errorf("reading the build information of %s: %w", filepath.Base(program), err)
	}
	content, err := os.ReadFile(program) // #nosec G304 -- a program of the release
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", filepath.Base(program), err)
	}
	sum := sha256.Sum256(content)
	bom.SerialNumber = uuid.NewSHA1(uuid.NameSpaceOID, append(sum[:], version...)).URN()
	bom.Metadata.Component.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}}
	var encoded bytes.Buffer
	if err := cyclonedx.NewBOMEncoder(&encoded, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return nil, fmt.Errorf("encoding the SBOM of %s: %w", filepath.Base(program), err)
	}
	return encoded.Bytes(), nil
}
