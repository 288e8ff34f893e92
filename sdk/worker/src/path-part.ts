/** URL resolves `.` and `..` as steps, escaped or not, and the request would reach another operation. */
export const pathPart = (value: string): string =>
  value === '.' || value === '..' ? value.replaceAll('.', '%252E') : encodeURIComponent(value)
