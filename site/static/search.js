// Shows the pages that contain all words of what is typed into the search field, the pages with a
// word in the title first.
(() => {
  const index = document.currentScript.dataset.index;
  const field = document.getElementById("search");
  const results = document.getElementById("results");
  const most = 12;
  let pages;

  const load = async () => {
    pages ??= await (await fetch(index)).json();
    return pages;
  };

  const score = (page, words) => {
    const title = page.title.toLowerCase();
    const text = page.text.toLowerCase();
    if (!words.every((word) => title.includes(word) || text.includes(word))) {
      return 0;
    }
    return words.reduce((sum, word) => sum + (title.includes(word) ? 10 : 0) + 1, 0);
  };

  const search = async () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = words.length === 0 ? [] : (await load())
      .map((page) => ({ page, rank: score(page, words) }))
      .filter(({ rank }) => rank > 0)
      .sort((a, b) => b.rank - a.rank)
      .slice(0, most);
    results.replaceChildren(...found.map(({ page }) => {
      const link = document.createElement("a");
      link.href = page.url;
      link.textContent = page.title;
      const item = document.createElement("li");
      item.append(link);
      return item;
    }));
    results.hidden = found.length === 0;
  };

  field.addEventListener("input", search);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      field.value = "";
      search();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== field) {
      event.preventDefault();
      field.focus();
    }
  });
})();
