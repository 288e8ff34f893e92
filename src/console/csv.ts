/** Lines for spreadsheets, which run what looks like a formula: such a cell begins with an apostrophe here. */

const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/

export const csvLine = (cells: readonly (string | number | boolean | null)[]): string =>
  `${cells.map(cellOf).join(',')}\r\n`

function cellOf(value: string | number | boolean | null): string {
  if (value === null) return ''
  if (typeof value !== 'string') return String(value)
  const safe = FORMULA.test(value) ? `'${value}` : value
  return `"${safe.replaceAll('"', '""')}"`
}
