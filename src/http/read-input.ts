/** Reads an operation's input from path, query and body, and reports every problem at once. */
import type * as z from 'zod'
import { notFound, ServiceError } from '../contracts/errors.ts'
import { certainlyFits, jsonCopy } from '../contracts/json-values.ts'
import { BODY_MAX_BYTES } from '../contracts/limits.ts'
import { mediaType, typesOf } from '../contracts/media-types.ts'
import { MISSING } from '../contracts/problems.ts'
import type { Operation } from '../contracts/operation.ts'
import type { HttpContext } from './context.ts'
import {
  readBytes,
  readRawBody,
  refuseOtherTypes,
  tooLarge,
  type OnBytes,
  type Reading,
} from './read-body.ts'

export type InputReader<I extends z.ZodObject> = (c: HttpContext, onBytes?: OnBytes) => Promise<z.output<I>>

export function inputReader<I extends z.ZodObject, O extends z.ZodObject>(
  op: Operation<I, O>,
): InputReader<I> {
  const parse = inputParser(op)
  return async (c, onBytes) => {
    const input = await readOutsidePath(op, c.req.raw, { onBytes, deadline: c.get('deadline') })
    const path = c.req.param()
    refuseOtherThanPath(input, path)
    return parse({ ...keyIn(op, c), ...input, ...headersIn(op, c), ...path })
  }
}

/** Whoever names two things, in the address and beside it, would get the one that they may not have meant. */
function refuseOtherThanPath(
  input: Readonly<Record<string, unknown>>,
  path: Readonly<Record<string, string>>,
): void {
  const problems = Object.entries(path).flatMap(([name, value]) =>
    Object.hasOwn(input, name) && input[name] !== value ? [`${name}: differs from the address`] : [],
  )
  if (problems.length > 0) throw new ServiceError('INVALID_REQUEST', undefined, { problems })
}

async function readOutsidePath(
  op: Operation,
  request: Request,
  reading: Reading,
): Promise<Record<string, unknown>> {
  const { takes } = op.http
  if (takes) {
    const { body, contentType } = await readRawBody(request, takes, reading)
    return { ...readQuery(request.url), body, ...contentTypeIn(op, contentType) }
  }
  return hasBody(op) ? readBody(request, bodyLimit(op)) : readQuery(request.url)
}

/** Only where the operation takes several, and so has a field for it. */
const contentTypeIn = ({ input }: Operation, contentType: string) =>
  'content_type' in input.shape ? { content_type: contentType } : {}

/** Only where the operation itself remembers keys, and so has a field for them. */
function keyIn({ input }: Operation, c: HttpContext) {
  const key = 'idempotency_key' in input.shape ? c.req.header('idempotency-key') : undefined
  return key === undefined ? {} : { idempotency_key: key }
}

/** Instead of what the query calls so: a secret there would stand in the logs of whatever lies between. */
const headersIn = ({ http: { headers = {} } }: Operation, c: HttpContext) =>
  Object.fromEntries(Object.entries(headers).map(([name, header]) => [name, c.req.header(header)]))

const bodyLimit = ({ http }: Operation): number => http.maxBytes ?? BODY_MAX_BYTES

const hasBody = ({ http }: Operation): boolean => http.method !== 'get' && http.method !== 'delete'

const pathNamesOf = ({ http }: Operation): ReadonlySet<string> =>
  new Set([...http.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!))

/** Reads the input of a call in this process: the same values, in the form in which a request would carry them. */
export function valueReader<I extends z.ZodObject, O extends z.ZodObject>(
  op: Operation<I, O>,
): (input: Record<string, unknown>) => z.output<I> {
  const parse = inputParser(op)
  const inPath = [...pathNamesOf(op)]
  return (input) => {
    const { path, rest } = splitPath(input, inPath)
    return parse({ ...readValues(op, rest), ...path })
  }
}

function readValues(op: Operation, input: Record<string, unknown>): Record<string, unknown> {
  if (op.http.takes) return readRawValues(op, op.http.takes, input)
  return hasBody(op) ? asBody(input, bodyLimit(op)) : asQuery(input)
}

function readRawValues(
  op: Operation,
  takes: NonNullable<Operation['http']['takes']>,
  { body, content_type: given, ...rest }: Record<string, unknown>,
): Record<string, unknown> {
  const contentType = mediaType(typeof given === 'string' ? given : typesOf(takes.type)[0])
  refuseOtherTypes(takes, contentType)
  const bytes = body instanceof Uint8Array ? body : new Uint8Array()
  if (bytes.length > takes.maxBytes) throw tooLarge(takes.maxBytes)
  // A copy: what the caller does with its own afterwards changes nothing here.
  return { ...asQuery(rest), body: new Uint8Array(bytes), ...contentTypeIn(op, contentType) }
}

function splitPath(input: Record<string, unknown>, names: readonly string[]) {
  const rest = { ...input }
  const path: Record<string, string> = {}
  for (const name of names) {
    path[name] = String(rest[name]).toWellFormed()
    delete rest[name]
  }
  return { path, rest }
}

function asBody(input: Record<string, unknown>, limit: number): Record<string, unknown> {
  if (!certainlyFits(input, limit) && Buffer.byteLength(JSON.stringify(input)) > limit) throw tooLarge(limit)
  return jsonCopy(input) as Record<string, unknown>
}

const asQuery = (input: Record<string, unknown>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(input)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [
        name,
        (typeof value === 'string' ? value : JSON.stringify(value)).toWellFormed(),
      ]),
  )

function inputParser<I extends z.ZodObject, O extends z.ZodObject>(
  op: Operation<I, O>,
): (all: Record<string, unknown>) => z.output<I> {
  const pathNames = pathNamesOf(op)
  // A misspelt key that is ignored (`expire_in_days`) would do something else than was intended.
  const schema = op.input.strict()
  return (all) => {
    refuseUnreadable(all)
    const parsed = schema.safeParse(all, MISSING)
    if (parsed.success) return parsed.data as z.output<I>
    // An id of the wrong format is not found, like one of the right format that does not exist.
    if (parsed.error.issues.some((issue) => pathNames.has(String(issue.path[0])))) throw notFound()
    throw new ServiceError('INVALID_REQUEST', undefined, { problems: parsed.error.issues.map(problem) })
  }
}

const problem = (issue: z.core.$ZodIssue): string =>
  issue.path.length === 0 ? issue.message : `${issue.path.join('.')}: ${issue.message}`

function readQuery(url: string): Record<string, unknown> {
  if (!url.includes('?')) return {}
  const query = new URL(url).searchParams
  return Object.fromEntries(
    [...new Set(query.keys())].map((name) => {
      const values = query.getAll(name)
      return [name, values.length === 1 ? values[0] : values]
    }),
  )
}

async function readBody(request: Request, limit: number): Promise<Record<string, unknown>> {
  const bytes = await readBytes(request, limit)
  if (bytes.length === 0) return {}
  if (mediaType(request.headers.get('content-type')) !== 'application/json') {
    throw new ServiceError('INVALID_REQUEST', 'The body must be JSON', {
      hint: 'Send the header `Content-Type: application/json`.',
    })
  }
  let body: unknown
  try {
    // RFC 8259, 8.1: JSON between systems is UTF-8; broken UTF-8 is refused, not repaired.
    body = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw new ServiceError('INVALID_REQUEST', 'The body is not valid JSON', { cause })
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new ServiceError('INVALID_REQUEST', 'The body must be a JSON object')
  }
  return body as Record<string, unknown>
}

function refuseUnreadable(input: unknown): void {
  // Not by recursion: JSON may nest deeper than our stack.
  const open = [input]
  while (open.length > 0) {
    const value = open.pop()
    // Postgres text takes every character but this one; refused here, it is a 400 and not a 500.
    if (typeof value === 'string' && value.includes('\0')) {
      throw new ServiceError('INVALID_REQUEST', 'Text must not contain the NUL character')
    }
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) continue
    for (const [key, inner] of Object.entries(value)) {
      // zod drops this key silently: the filter that it names would be ignored.
      if (key === '__proto__') {
        throw new ServiceError('INVALID_REQUEST', 'A key must not be named __proto__')
      }
      open.push(key, inner)
    }
  }
}
