/** `svc doctor`: looks at everything a call needs, in the order in which it is needed, and says what to mend. */
import { ERRORS, ServiceError } from '../../contracts/errors.ts'
import type { Run } from '../command.ts'
import { configFiles, othersMayRead, readLogins } from '../config-files.ts'
import { FROM_ENVIRONMENT } from '../choose-login.ts'
import { examine } from '../doctor.ts'
import { sendRequest, type Answer } from '../http-request.ts'
import { textOption } from '../options.ts'
import { asFailure, exitCodeOf } from '../say-failure.ts'
import { onOneLine } from '../terminal-text.ts'
import { USER_AGENT, VERSION } from '../client-version.ts'
import type { World } from '../world.ts'

type Check = { readonly check: string; readonly ok: boolean; readonly said: string; readonly hint?: string }

/** A check that failed ends the walk: what comes after it only fails in consequence. */
class Broken extends Error {
  readonly failure: ServiceError
  constructor(failure: ServiceError) {
    super(failure.message)
    this.failure = failure
  }
}

export const doctor: Run = async (world, call) => {
  const checks: Check[] = []
  let exit = 0
  try {
    await walk(world, (check) => checks.push(check))
  } catch (error) {
    if (!(error instanceof Broken)) throw error
    exit = exitCodeOf(error.failure)
  }
  const mcp = textOption(call, 'mcp')
  if (mcp !== undefined) {
    for await (const { isOk, said } of examine(mcp, { fetch, timeoutMs: world.settings.timeoutMs })) {
      checks.push({ check: 'assistants', ok: isOk, said })
      if (!isOk) exit ||= ERRORS.UNEXPECTED.exit
    }
  }
  world.print({ ok: exit === 0, checks }, { text: checks.map(lineOf).join('') })
  return exit
}

async function walk(world: World, report: (check: Check) => void): Promise<void> {
  const { machine, settings } = world
  const step = async <T>(
    check: string,
    work: () => Promise<readonly [said: string, value: T]>,
  ): Promise<T> => {
    try {
      const [said, value] = await work()
      report({ check, ok: true, said })
      return value
    } catch (error) {
      const failure = asFailure(error)
      report({
        check,
        ok: false,
        said: failure.message,
        ...(failure.hint !== undefined && { hint: failure.hint }),
      })
      throw new Broken(failure)
    }
  }

  await step('client', async () => [`svc ${VERSION} on Node ${process.versions.node}`, undefined])
  const login = await step('login', async () => {
    const chosen = await world.login()
    return [`context ${chosen.name} for ${chosen.apiUrl.origin}`, chosen]
  })
  if (login.name !== FROM_ENVIRONMENT) {
    const files = configFiles(machine)
    await step('files', async () => {
      readLogins(files)
      if (othersMayRead(files, machine)) {
        throw new ServiceError('INVALID_REQUEST', `Others on this machine may read ${files.credentials}`, {
          hint: `Run: chmod 600 '${files.credentials}'`,
        })
      }
      return [`${files.folder}, tokens readable for you alone`, undefined]
    })
  }
  const health = await step('server', async () => {
    const began = Date.now()
    const url = new URL('/healthz', login.apiUrl)
    const headers = { accept: 'application/json', 'user-agent': USER_AGENT }
    const answer = await sendRequest(url, { method: 'GET', headers, timeoutMs: settings.timeoutMs })
    const ms = Date.now() - began
    if (answer.status !== 200) {
      throw new ServiceError('UNEXPECTED', `${url.href} answers ${answer.status}`, {
        hint: 'Is this the address of the API? A proxy before it may answer in its place.',
      })
    }
    return [`${login.apiUrl.origin} is alive, ${ms} ms away`, { answer, began, ms }]
  })
  await step('clock', async () => [clockSaid(health), undefined])
  const me = await step('token', async () => {
    const who = await world.ask('me.show', {})
    const where = who.organization ? `${who.role} of ${who.organization.name}` : 'in no organization'
    const ends = who.expires_at === null ? 'does not expire' : `expires ${who.expires_at}`
    return [`${who.user.email}, ${where}; ${ends}`, who]
  })
  if (!me.organization) return
  await step('questions', async () => {
    const { minute, day } = await world.ask('dataSources.quota', {})
    return [
      `${minute.left} of ${minute.limit} left this minute, ${day.left} of ${day.limit} today`,
      undefined,
    ]
  })
}

/** Tokens and handles end by the server's clock; somebody whose own is wrong reads the times of every list wrongly. */
function clockSaid(health: { answer: Answer; began: number; ms: number }): string {
  const there = Date.parse(health.answer.headers.date ?? '')
  if (Number.isNaN(there)) return 'the server does not say what time it is'
  // The header counts whole seconds.
  const off = Math.round((health.began + health.ms / 2 - there) / 1000)
  return Math.abs(off) <= 2 ? 'the same as the server’s' : `${off} s off the server’s`
}

const lineOf = ({ ok, check, said, hint }: Check): string =>
  `${ok ? 'ok    ' : 'broken'}  ${check}: ${onOneLine(said)}\n${hint === undefined ? '' : `        hint: ${onOneLine(hint)}\n`}`
