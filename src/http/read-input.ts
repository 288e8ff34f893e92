/** Reads an operation's input from path, query and body, and reports every problem at once. */
import type * as z from 'zod'
import { notFound, ServiceError } from '../contracts/errors.ts'
import { BODY_MAX_BYTES } from '../contracts/limits.ts'
import { MISSING } from '../contracts/problems.ts'
import type { Operation } from '../contracts/operation.ts'
import type { HttpContext } from './context.ts'
import { isKnownToFit } from '../contracts/known-to-fit.ts'

export type InputReader<I extends z.ZodObject> = (c: HttpContext) => Promise<z.output<I>>

export function inputReader<I extends z.ZodObject, O extends z.ZodObject>(
  op: Operation<I, O>,
): InputReader<I> {
  const parse = inputParser(op)
  return async (c) => {
    const input = hasBody(op) ? await readBody(c.req.raw) : readQuery(c.req.raw.url)
    return parse({ ...input, ...c.req.param() })
  }
}

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
    return parse({ ...(hasBody(op) ? asBody(rest) : asQuery(rest)), ...path })
  }
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

function asBody(input: Record<string, unknown>): Record<string, unknown> {
  const text = JSON.stringify(input)
  if (Buffer.byteLength(text) > BODY_MAX_BYTES) throw tooLarge(BODY_MAX_BYTES)
  return JSON.parse(text) as Record<string, unknown>
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
  const query = new URL(url).searchParams
  return Object.fromEntries(
    [...new Set(query.keys())].map((name) => {
      const values = query.getAll(name)
      return [name, values.length === 1 ? values[0] : values]
    }),
  )
}

async function readBody(request: Request): Promise<Record<string, unknown>> {
  const bytes = await readBytes(request)
  if (bytes.length === 0) return {}
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/json') {
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

const tooLarge = (limit: number) =>
  new ServiceError('INVALID_REQUEST', `The body is larger than ${limit / 1024} KiB`)

/** Without a stream where the length is known, which is most of the time; otherwise counted while it is read. */
export async function readBytes(request: Request, limit = BODY_MAX_BYTES): Promise<Uint8Array> {
  if (isKnownToFit(request, limit)) return new Uint8Array(await request.arrayBuffer())
  if (!request.body) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body) {
    size += chunk.length
    if (size > limit) throw tooLarge(limit)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
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
    if (typeof value !== 'object' || value === null) continue
    for (const [key, inner] of Object.entries(value)) {
      // zod drops this key silently: the filter that it names would be ignored.
      if (key === '__proto__') {
        throw new ServiceError('INVALID_REQUEST', 'A key must not be named __proto__')
      }
      open.push(key, inner)
    }
  }
}
