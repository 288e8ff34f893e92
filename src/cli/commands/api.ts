/** `svc api <method> <path>`: calls any operation of the HTTP API with the login of the context. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { ServiceError } from '../../contracts/errors.ts'
import { parseResponse, type ServerRequest } from '../call-operation.ts'
import type { CommandContext } from '../command-context.ts'
import type { CommandInput, Run } from '../command.ts'
import { formatJson } from '../format-output.ts'
import type { HttpResponse } from '../http-request.ts'
import { argument, isSet, listOption, textOption } from '../options.ts'
import { readStdinBytes } from '../prompt.ts'
import { buildFields, type Field } from '../request-fields.ts'
import { sanitizeLines } from '../terminal-text.ts'
import { usageError } from '../usage-error.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
/** More than any operation takes. */
const BODY_MAX_BYTES = 64 * 1024 * 1024
/** Of a list: more than one reads, and less than fills the memory. */
const MAX_PAGES = 10_000

export const callApi: Run = async (ctx, input) => {
  const request = await requestFrom(ctx, input)
  if (isSet(input, 'paginate')) return printPages(ctx, request)
  const response = await ctx.sendRequest(request)
  printResponse(ctx, request.url, response)
}

async function requestFrom(ctx: CommandContext, input: CommandInput): Promise<ServerRequest> {
  const method = argument(input, 'method').toUpperCase()
  if (!METHODS.includes(method)) {
    throw usageError(`Unknown method: ${method}`, `Must be one of: ${METHODS.join(', ')}`)
  }
  if (isSet(input, 'paginate') && method !== 'GET') {
    throw usageError('--paginate is for GET', 'Only lists have pages')
  }
  const url = urlOf(argument(input, 'path'), (await ctx.resolveContext()).apiUrl)
  const headers = headersFrom(input)
  const fields = fieldsFrom(ctx, input)
  const file = textOption(input, 'input')
  const body = file === undefined ? undefined : await bodyFrom(ctx, file)
  const hasBody = method !== 'GET' && method !== 'DELETE'
  if (body !== undefined && !hasBody) throw usageError(`${method} takes no --input`, 'Use --field')
  // Beside a body from a file, fields are parameters of the URL.
  if (body !== undefined || !hasBody) addToQuery(url, fields)
  const sent = hasBody ? (body ?? JSON.stringify(buildFields(fields))) : undefined
  const type = sent === undefined ? {} : { 'content-type': 'application/json' }
  return { method, url, headers: { ...type, ...headers }, body: sent }
}

/** The token goes to this server only, whatever the path resolves to: `//host/path` is another one. */
function urlOf(path: string, apiUrl: URL): URL {
  const url = URL.canParse(path, apiUrl.href) ? new URL(path, apiUrl) : undefined
  if (url?.origin === apiUrl.origin && /^(\/|https?:\/\/)/.test(path) && url.username + url.password === '') {
    return url
  }
  throw usageError(
    `Not a path of ${apiUrl.origin}: ${path}`,
    'Use a path such as /api/v1/me. For another server, choose its context with --context.',
  )
}

/** Set by the client itself. */
const OWN_HEADERS =
  /^(authorization|cookie|connection|content-length|host|proxy-authorization|te|transfer-encoding|upgrade|user-agent|x-svc-client)$/

function headersFrom(input: CommandInput): Record<string, string> {
  return Object.fromEntries(
    listOption(input, 'header').map((line) => {
      const [, name = '', value = ''] = /^([\w!#$%&'*+.^`|~-]+):[ \t]*([\t\x20-\x7e]*)$/.exec(line) ?? []
      if (name === '') throw usageError(`Not a header: ${line}`, 'Use --header "Name: value"')
      if (OWN_HEADERS.test(name.toLowerCase())) {
        throw usageError(`--header cannot set ${name}`, 'svc sets it itself, from the context')
      }
      return [name.toLowerCase(), value.trim()]
    }),
  )
}

/** `--field` reads its value: true, false, null, numbers, @file. `--raw-field` is text as it stands. */
function fieldsFrom(ctx: CommandContext, input: CommandInput): Field[] {
  const typed = listOption(input, 'field').map((text): Field => {
    const { key, value } = splitField('--field', text)
    return { key, value: value.startsWith('@') ? readText(ctx, value.slice(1)) : typedValue(value) }
  })
  return [...typed, ...listOption(input, 'raw-field').map((text) => splitField('--raw-field', text))]
}

function splitField(option: string, text: string): { key: string; value: string } {
  const at = text.indexOf('=')
  if (at > 0) return { key: text.slice(0, at), value: text.slice(at + 1) }
  throw usageError(`Not a field: ${text}`, `Use ${option} key=value`)
}

function typedValue(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true'
  if (text === 'null') return null
  // Not `1e3`, `0x10`, `007` or what a number cannot hold exactly: those are ids.
  return /^-?(0|[1-9]\d{0,14})(\.\d{1,6})?$/.test(text) ? Number(text) : text
}

const readText = (ctx: CommandContext, file: string): string =>
  readInput(ctx, file, 'Name a file that you may read').toString('utf8')

function readInput({ environment }: CommandContext, file: string, hint: string): Buffer {
  try {
    return readFileSync(resolve(environment.cwd, file))
  } catch (error) {
    const code = String((error as { code?: string }).code)
    throw usageError(`${file} cannot be read (${code})`, hint)
  }
}

const bodyFrom = async (ctx: CommandContext, file: string): Promise<Uint8Array> =>
  file === '-'
    ? readStdinBytes(ctx, '--input', BODY_MAX_BYTES)
    : readInput(ctx, file, 'Name a file that you may read, or - for stdin')

function addToQuery(url: URL, fields: readonly Field[]): void {
  for (const { key, value } of fields) {
    if (/[[\]]/.test(key)) {
      throw usageError(`A parameter has no parts: ${key}`, 'Fields with [] are for the body of a request')
    }
    url.searchParams.append(key, String(value))
  }
}

function printResponse(ctx: CommandContext, url: URL, response: HttpResponse): void {
  const { environment } = ctx
  const isJson = /^application\/([\w.-]+\+)?json\b/.test(response.headers['content-type'] ?? '')
  if (response.status < 200 || response.status > 299 || response.status === 204 || isJson) {
    const data = parseResponse(url, response)
    if (response.status !== 204) ctx.print(data, { text: formatJson(data) })
    return
  }
  // A file, or text in the format that a header asked for. At a terminal it must not act as commands to it.
  environment.stdout.write(environment.stdout.isTTY ? sanitizeLines(response.body) : response.bytes)
}

/** One answer with the rows of all pages. */
async function printPages(ctx: CommandContext, request: ServerRequest): Promise<void> {
  const { url } = request
  const rows: unknown[] = []
  const cursors = new Set<string>()
  for (;;) {
    const page = parseResponse(url, await ctx.sendRequest(request)) as Record<string, unknown>
    const [noun, more] = Object.entries(page).find(([, value]) => Array.isArray(value)) ?? []
    if (noun === undefined) throw usageError(`${url.pathname} is not a list`, 'Remove --paginate')
    rows.push(...(more as unknown[]))
    const next = page['next_cursor']
    if (typeof next !== 'string') {
      const { next_cursor: _, ...rest } = page
      const all = { ...rest, [noun]: rows }
      return ctx.print(all, { text: formatJson(all) })
    }
    // A server that repeats a cursor would keep us here forever; what was read until then is not the list.
    if (cursors.has(next)) throw endless(url, 'The server repeats a page')
    if (cursors.size + 1 === MAX_PAGES) throw endless(url, `The list has more than ${MAX_PAGES} pages`)
    cursors.add(next)
    url.searchParams.set('cursor', next)
  }
}

const endless = ({ pathname }: URL, reason: string): ServiceError =>
  new ServiceError('UNEXPECTED', `${pathname} does not end: ${reason}`, {
    hint: 'Read it page by page: leave out --paginate, and pass next_cursor on with -f cursor=…',
  })
