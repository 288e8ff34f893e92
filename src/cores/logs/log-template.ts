/** Lines that differ only in numbers, ids and quoted parts are one group: their template is what they share. */

/** Longer lines are cut: what makes a group stands at the beginning. */
const TEMPLATE_MAX = 500

/** In this order: what is longer and more exact first. Each is one pass over a bounded line, without backtracking. */
const VARIABLE_PARTS: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '<uuid>'],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?/g, '<time>'],
  [/\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+\b/g, '<email>'],
  [/\b(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?\b/g, '<address>'],
  [/"[^"]{0,200}"|'[^']{0,200}'|`[^`]{0,200}`/g, '<text>'],
  [/\b0x[0-9a-f]+\b/gi, '<hex>'],
  // Hashes and ids: hex of some length, or letters and digits mixed.
  [/\b(?=[a-z]*\d)(?=\d*[a-z])[0-9a-z]{12,}\b/gi, '<id>'],
  [/\b\d+(?:[.,]\d+)*(?=[a-z%]{0,2}\b|%)/gi, '<n>'],
]

/** Of the first line: the rest is a stack trace, which moves with every release. */
export function templateOf(text: string): string {
  const line = text
    .split('\n', 1)[0]!
    .slice(0, 2 * TEMPLATE_MAX)
    .trim()
  return VARIABLE_PARTS.reduce((rest, [pattern, name]) => rest.replaceAll(pattern, name), line)
    .replaceAll(/\s+/g, ' ')
    .slice(0, TEMPLATE_MAX)
}
