/** Beyond that nobody writes the zeros. */
const EXPONENT_MAX = 400

/** A number with an exponent as it is without, digit by digit: `1.5e-7` is `0.00000015`. Any other text stays. */
export function writtenOut(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = ''] =
    /^([-+]?)(\d+)(?:\.(\d*))?[eE]([-+]?\d{1,4})$/.exec(text) ?? []
  const power = Number(exponent)
  if (whole === '' || Math.abs(power) >= EXPONENT_MAX) return text
  const point = whole.length + power
  const digits = `${'0'.repeat(Math.max(0, -point))}${whole}${fraction}`.padEnd(Math.max(0, point), '0')
  const at = Math.max(0, point)
  const before = digits.slice(0, at).replace(/^0+(?=\d)/, '') || '0'
  const behind = digits.slice(at).replace(/0+$/, '')
  return `${sign === '-' ? '-' : ''}${before}${behind === '' ? '' : `.${behind}`}`
}
