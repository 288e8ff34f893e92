/** What is sent for a call, and the error that is answered, however they travel. Without zod, because `svc` loads it. */
import { ERRORS, type ErrorBody } from '../contracts/errors.ts'

/** Of an operation's contract. `takes`: the type of a body that is not JSON; `headers`: fields that come as these alone. */
export type RequestShape = {
  readonly method: string
  readonly path: string
  readonly takes?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export type RequestParts = {
  readonly method: string
  /** With its query. */
  readonly path: string
  /** In lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array<ArrayBuffer> | undefined
}

export function requestParts(shape: RequestShape, input: Readonly<Record<string, unknown>>): RequestParts {
  const { path, rest } = fillPath(shape.path, input)
  const headers: Record<string, string> = {}
  for (const [field, header] of Object.entries(shape.headers ?? {})) {
    if (typeof rest[field] === 'string') headers[header] = rest[field]
    delete rest[field]
  }
  const method = shape.method.toUpperCase()
  if (shape.takes !== undefined) {
    const { body, content_type: type, ...query } = rest
    headers['content-type'] = typeof type === 'string' ? type : shape.takes
    return { method, path: path + queryOf(query), headers, body: body as Uint8Array<ArrayBuffer> }
  }
  if (method === 'GET' || method === 'DELETE')
    return { method, path: path + queryOf(rest), headers, body: undefined }
  headers['content-type'] = 'application/json'
  return { method, path, headers, body: JSON.stringify(rest) }
}

function queryOf(values: Readonly<Record<string, unknown>>): string {
  const query = new URLSearchParams()
  for (const [key, value] of Object.entries(values))
    query.set(key, typeof value === 'string' ? value : JSON.stringify(value))
  return query.size === 0 ? '' : `?${query.toString()}`
}

/** The one place where values become parts of a path. `rest` is what is not in it, and was given. */
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

/** Undefined where the answer is not ours, but of a proxy; without a code where it is one of a newer server. */
export function errorIn(body: unknown, retryAfter: unknown) {
  const error = (body as Partial<ErrorBody> | null | undefined)?.error
  if (typeof error?.message !== 'string') return undefined
  const { code, message, hint, problems } = error
  const seconds = Number(retryAfter)
  return {
    code: Object.hasOwn(ERRORS, code) ? code : undefined,
    message,
    hint: typeof hint === 'string' ? hint : undefined,
    problems: Array.isArray(problems) ? problems.map(String) : undefined,
    retryAfterSeconds: Number.isFinite(seconds) && seconds > 0 ? seconds : undefined,
  }
}
