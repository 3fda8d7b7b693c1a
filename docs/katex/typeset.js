// Typesets the formulas of a page, which pymdownx.arithmatex has marked, without a network.
document.addEventListener("DOMContentLoaded", () =>
  document.querySelectorAll(".arithmatex").forEach((formula) =>
    renderMathInElement(formula, {
      delimiters: [
        { left: "\\[", right: "\\]", display: true },
        { left: "\\(", right: "\\)", display: false },
      ],
    })))
