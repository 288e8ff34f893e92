/** `svc doctor`: checks everything a call needs, in the order in which it is needed. */
import { ENDINGS_PROMISES, type EndingsPromise } from '../../contracts/endings.ts'
import { ERRORS, ServiceError } from '../../contracts/errors.ts'
import { USER_AGENT, VERSION } from '../client-version.ts'
import type { CommandContext } from '../command-context.ts'
import type { Run } from '../command.ts'
import { configPaths, isReadableByOthers, readConfig } from '../config-files.ts'
import { exitCodeOf, toServiceError } from '../format-error.ts'
import { sendRequest, type HttpResponse } from '../http-request.ts'
import { checkMcpEndpoint } from '../mcp-check/check-endpoint.ts'
import { textOption } from '../options.ts'
import { proxyException, proxyFor, proxyVariable, type Proxy } from '../proxy.ts'
import { proxiedFetch } from '../proxied-fetch.ts'
import { ENV_CONTEXT } from '../resolve-context.ts'
import { sanitizeLine } from '../terminal-text.ts'

type Check = {
  readonly check: string
  readonly ok: boolean
  readonly message: string
  readonly hint?: string
}

/** Ends the checks: those after a failed one would only fail because of it. */
class CheckFailed extends Error {
  readonly error: ServiceError
  constructor(error: ServiceError) {
    super(error.message)
    this.error = error
  }
}

export const doctor: Run = async (ctx, input) => {
  const checks: Check[] = []
  let exit = 0
  try {
    await runChecks(ctx, (check) => checks.push(check))
    // Of the server: whoever runs it has to do something, although all of the above works.
    if (checks.some(({ ok }) => !ok)) exit = ERRORS.UNEXPECTED.exit
  } catch (error) {
    if (!(error instanceof CheckFailed)) throw error
    exit = exitCodeOf(error.error)
  }
  const mcp = textOption(input, 'mcp')
  if (mcp !== undefined) {
    const http = { fetch: proxiedFetch(ctx.environment.env), timeoutMs: ctx.settings.timeoutMs }
    for await (const result of checkMcpEndpoint(mcp, http)) {
      checks.push({ check: 'assistants', ...result })
      if (!result.ok) exit ||= ERRORS.UNEXPECTED.exit
    }
  }
  ctx.print({ ok: exit === 0, checks }, { text: checks.map(formatCheck).join('') })
  return exit
}

async function runChecks(ctx: CommandContext, report: (check: Check) => void): Promise<void> {
  const { environment, settings } = ctx
  const step = async <T>(
    check: string,
    work: () => Promise<readonly [message: string, value: T]>,
  ): Promise<T> => {
    try {
      const [message, value] = await work()
      report({ check, ok: true, message })
      return value
    } catch (thrown) {
      const error = toServiceError(thrown)
      const { message, hint } = error
      report({ check, ok: false, message, ...(hint !== undefined && { hint }) })
      throw new CheckFailed(error)
    }
  }

  await step('client', async () => [`svc ${VERSION} on Node ${process.versions.node}`, undefined])
  const context = await step('context', async () => {
    const resolved = await ctx.resolveContext()
    return [`${resolved.name} (${resolved.apiUrl.origin})`, resolved]
  })
  if (context.name !== ENV_CONTEXT) {
    const paths = configPaths(environment)
    await step('files', async () => {
      readConfig(paths)
      if (isReadableByOthers(paths, environment)) {
        throw new ServiceError('INVALID_REQUEST', `${paths.credentials} is readable by other users`, {
          hint: `Run: chmod 600 '${paths.credentials}'`,
        })
      }
      return [`${paths.folder}, tokens readable only by you`, undefined]
    })
  }
  const proxy = await step('proxy', async () => {
    const found = proxyFor(context.apiUrl, environment.env)
    return [proxyMessage(found, context.apiUrl, environment.env), found]
  })
  const health = await step('server', async () => {
    const startedAt = Date.now()
    const url = new URL('/healthz', context.apiUrl)
    const headers = { accept: 'application/json', 'user-agent': USER_AGENT }
    const { timeoutMs } = settings
    const response = await sendRequest(url, { method: 'GET', headers, timeoutMs, proxy })
    const ms = Date.now() - startedAt
    if (response.status !== 200) {
      throw new ServiceError('UNEXPECTED', `${url.href} returned ${response.status}`, {
        hint: 'Check that this is the URL of the API. A proxy in front of it may have answered.',
      })
    }
    return [`${context.apiUrl.origin} is up (${ms} ms)`, { response, startedAt, ms }]
  })
  const { work, endings, warnings } = await readReadiness(new URL('/readyz', context.apiUrl), {
    timeoutMs: settings.timeoutMs,
    proxy,
  })
  if (work) report({ check: 'work', ok: true, message: WORK[work] })
  if (endings) report({ check: 'endings', ok: true, message: ENDINGS_PROMISES[endings] })
  for (const message of warnings) report({ check: 'server', ok: false, message, hint: WARNING_HINT })
  await step('clock', async () => [clockMessage(health), undefined])
  const me = await step('token', async () => {
    const who = await ctx.callOperation('whoAmI', {})
    const member = who.organization ? `${who.role} of ${who.organization.name}` : 'no organization'
    const expiry = who.expires_at === null ? 'does not expire' : `expires ${who.expires_at}`
    return [`${who.user.email}, ${member}; ${expiry}`, who]
  })
  if (!me.organization) return
  await step('questions', async () => {
    const { minute, day } = await ctx.callOperation('showQuota', {})
    return [
      `${minute.left} of ${minute.limit} left this minute, ${day.left} of ${day.limit} left today`,
      undefined,
    ]
  })
}

/** How the server learns of work: which of the two depends on how it reaches its database. */
const WORK = {
  listening: 'listening, the server is told of it by its database',
  polling: 'polling, the server looks for it now and then (DATABASE_LISTEN_URL)',
} as const

const WARNING_HINT = 'Whoever runs the server finds it in its log, with what to do.'

type Readiness = {
  readonly work?: keyof typeof WORK
  readonly endings?: EndingsPromise
  readonly warnings: readonly string[]
}

/** Nothing of what it does not say, because it is older, or answers nobody outside, or has just started. */
async function readReadiness(
  url: URL,
  options: { timeoutMs: number; proxy: Proxy | undefined },
): Promise<Readiness> {
  try {
    const headers = { accept: 'application/json', 'user-agent': USER_AGENT }
    const { body } = await sendRequest(url, { method: 'GET', headers, ...options })
    const { work, endings, warnings } = JSON.parse(body) as Record<string, unknown>
    const isPromise = typeof endings === 'string' && Object.hasOwn(ENDINGS_PROMISES, endings)
    return {
      ...((work === 'listening' || work === 'polling') && { work }),
      ...(isPromise && { endings: endings as EndingsPromise }),
      warnings: Array.isArray(warnings) ? warnings.filter((one) => typeof one === 'string') : [],
    }
  } catch {
    return { warnings: [] }
  }
}

function proxyMessage(proxy: Proxy | undefined, url: URL, env: CommandContext['environment']['env']): string {
  // Without its user and password.
  if (proxy) return `${proxy.url.origin} (${proxy.variable})`
  const variable = proxyVariable(url, env)
  if (variable === undefined) return 'none'
  return `${variable} is not used for ${url.hostname}: ${proxyException(url, env)}`
}

/** Tokens expire by the server's clock, and every list shows its times. */
function clockMessage(health: { response: HttpResponse; startedAt: number; ms: number }): string {
  const serverTime = Date.parse(health.response.headers.date ?? '')
  if (Number.isNaN(serverTime)) return 'the server does not send its time'
  // The header has whole seconds.
  const offset = Math.round((health.startedAt + health.ms / 2 - serverTime) / 1000)
  return Math.abs(offset) <= 2 ? 'in sync with the server' : `${offset} s off the server’s clock`
}

const formatCheck = ({ ok, check, message, hint }: Check): string =>
  `${ok ? 'ok    ' : 'failed'}  ${check}: ${sanitizeLine(message)}\n${hint === undefined ? '' : `        hint: ${sanitizeLine(hint)}\n`}`
