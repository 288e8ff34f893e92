/** Calls an operation of the server and turns what it answers into data, or into a failure with its exit code. */
import type * as z from 'zod'
import { ERRORS, type ErrorBody, type ErrorCode } from '../contracts/errors.ts'
import { sendRequest, type Answer } from './http-request.ts'
import { Refusal } from './refusal.ts'
import { REQUESTS, type Operations } from './requests.ts'

type Input<Name extends keyof Operations> = z.input<Operations[Name]['input']>
type Output<Name extends keyof Operations> = z.output<Operations[Name]['output']>

export type Ask = <Name extends keyof Operations>(name: Name, input: Input<Name>) => Promise<Output<Name>>

export type Server = {
  readonly apiUrl: URL
  readonly token: string
  readonly timeoutMs: number
  readonly userAgent: string
  /** Told of every request, without secrets. */
  readonly trace?: (line: string) => void
}

export const asking =
  (server: Server): Ask =>
  async (name, input) => {
    const [method, template] = REQUESTS[name]
    const { path, rest } = fillPath(template, input)
    const url = new URL(path, server.apiUrl)
    const hasBody = method !== 'GET' && method !== 'DELETE'
    if (!hasBody) {
      for (const [key, value] of Object.entries(rest)) url.searchParams.set(key, String(value))
    }
    // Not `performance`: to load it costs more than it measures.
    const began = Date.now()
    const answer = await sendRequest(url, {
      method,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${server.token}`,
        'user-agent': server.userAgent,
        // The activity list says `cli` because of it.
        'x-svc-client': 'cli',
        ...(hasBody ? { 'content-type': 'application/json' } : {}),
      },
      ...(hasBody ? { body: JSON.stringify(rest) } : {}),
      timeoutMs: server.timeoutMs,
    })
    const ms = Date.now() - began
    server.trace?.(`${method} ${url.href} ${answer.status} ${ms} ms ${requestIdOf(answer) ?? ''}`)
    return read(url, answer) as Output<typeof name>
  }

function fillPath(template: string, input: Readonly<Record<string, unknown>>) {
  const rest = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))
  const path = template.replaceAll(/\{(\w+)\}/g, (_, field: string) => {
    const value = String(rest[field])
    delete rest[field]
    // An URL drops these two as steps in a path, and the request would go to another operation.
    return value === '.' || value === '..' ? value.replaceAll('.', '%252E') : encodeURIComponent(value)
  })
  return { path, rest }
}

function read(url: URL, answer: Answer): unknown {
  const { status } = answer
  if (status === 204) return {}
  const body = jsonOf(answer.body)
  if (status >= 200 && status < 300) {
    if (typeof body === 'object' && body !== null) return body
    throw foreign(url, answer, 'UNEXPECTED')
  }
  if (status >= 300 && status < 400) {
    throw new Refusal('UNEXPECTED', `${url.origin} sends its callers elsewhere (${status})`, {
      hint: 'A redirect is not followed, because it would carry your token along. Log in with the address it leads to.',
      status,
      requestId: requestIdOf(answer),
    })
  }
  const said = (body as Partial<ErrorBody> | undefined)?.error
  if (!said || typeof said.message !== 'string') throw foreign(url, answer, codeFor(status))
  throw new Refusal(Object.hasOwn(ERRORS, said.code) ? said.code : codeFor(status), said.message, {
    hint: typeof said.hint === 'string' ? said.hint : undefined,
    problems: Array.isArray(said.problems) ? said.problems.map(String) : undefined,
    retryAfterSeconds: secondsOf(answer.headers['retry-after']),
    status,
    requestId: requestIdOf(answer),
  })
}

/** Somebody stands in front of the server, or it is none of ours. */
const foreign = (url: URL, answer: Answer, code: ErrorCode): Refusal =>
  new Refusal(code, `${url.origin} answers ${answer.status}, and not in the way svc does`, {
    hint: 'Is this the address of the API? A proxy before it may answer in its place.',
    status: answer.status,
    requestId: requestIdOf(answer),
  })

/** The code whose exit fits a status that came without one of ours; also for codes of a later server. */
function codeFor(status: number): ErrorCode {
  if (status === 401) return 'UNAUTHENTICATED'
  if (status === 403) return 'FORBIDDEN'
  if (status === 404 || status === 410) return 'NOT_FOUND'
  if (status === 408 || status === 504) return 'TIMEOUT'
  if (status === 409 || status === 412) return 'CONFLICT'
  if (status === 429) return 'RATE_LIMITED'
  return [400, 413, 414, 415, 422].includes(status) ? 'INVALID_REQUEST' : 'UNEXPECTED'
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function requestIdOf({ headers }: Answer): string | undefined {
  const id = headers['x-request-id']
  return typeof id === 'string' ? id : undefined
}

function secondsOf(header: string | undefined): number | undefined {
  const seconds = Number(header)
  return Number.isFinite(seconds) && seconds > 0 ? seconds : undefined
}
