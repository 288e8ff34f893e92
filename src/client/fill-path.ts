/** The path of a call: the one place where values become parts of it. Without zod, because `svc` loads it. */

/** `rest` is what is not in the path, and was given. */
export function fillPath(template: string, input: Readonly<Record<string, unknown>>) {
  const rest = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))
  const path = template.replaceAll(/\{(\w+)\}/g, (_, field: string) => {
    const value = String(rest[field])
    delete rest[field]
    return escapePart(value)
  })
  return { path, rest }
}

/** URL resolves `.` and `..` as steps, escaped or not, and the request would reach another operation. */
export const escapePart = (value: string): string =>
  value === '.' || value === '..' ? value.replaceAll('.', '%252E') : encodeURIComponent(value)
