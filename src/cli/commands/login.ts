/** `svc login`: checks a token with its server, then keeps it beside the others. */
import { ServiceError } from '../../contracts/errors.ts'
import { apiAddress, isConfidential } from '../api-address.ts'
import { readAnswer, readInput, readSecret } from '../ask-person.ts'
import { asking } from '../ask.ts'
import { checkedToken, FROM_ENVIRONMENT } from '../choose-login.ts'
import { changeLogins } from '../change-logins.ts'
import type { Call, Run } from '../command.ts'
import { configFiles, type Context, type Logins } from '../config-files.ts'
import { isSet, textOption } from '../options.ts'
import { USER_AGENT } from '../client-version.ts'
import { whileSpinning } from '../spinner.ts'
import { onOneLine } from '../terminal-text.ts'
import { usage } from '../usage.ts'
import type { World } from '../world.ts'

export const login: Run = async (world, call) => {
  const named = checkedName(world.settings.context)
  const apiUrl = await addressFrom(world, call)
  const token = await tokenFrom(world, call)
  const { user, organization, role } = await whoIsIt(world, apiUrl, token)
  const context: Context = {
    api_url: apiUrl.origin,
    user: { id: user.id, email: user.email },
    organization: organization && { id: organization.id, name: organization.name },
    ...(isConfidential(apiUrl) ? {} : { insecure_http: true }),
  }

  const files = configFiles(world.machine)
  const { name, isCurrent } = await changeLogins(files, (logins) => {
    const name = named ?? nameFor(logins.config, context)
    const there = Object.hasOwn(logins.config.contexts, name) ? logins.config.contexts[name] : undefined
    if (there && !isSameLogin(there, context)) throw taken(name, there)
    logins.config.contexts[name] = { ...there, ...context }
    logins.credentials.tokens[name] = token
    if (isSet(call, 'use') || logins.config.current === undefined) logins.config.current = name
    return { name, isCurrent: logins.config.current === name }
  })

  if ((world.settings.format ?? 'table') !== 'table') {
    world.print(
      {
        context: name,
        current: isCurrent,
        api_url: apiUrl.origin,
        user,
        organization,
        role,
        token_in: files.credentials,
      },
      { text: '' },
    )
  }
  const where = organization ? `${role} of ${organization.name}` : 'in no organization yet'
  world.say(onOneLine(`Logged in to ${apiUrl.origin} as ${user.email}, ${where}.`))
  world.say(`The token is in ${files.credentials}, readable for you alone.`)
  world.say(
    isCurrent
      ? `The context ${name} is the current one.`
      : `The context is called ${name}; the current one stays as it was. To switch: svc context use ${name}`,
  )
}

/** Before anything is saved: a wrong token must not replace a right one. */
async function whoIsIt(world: World, apiUrl: URL, token: string) {
  const { timeoutMs, debug } = world.settings
  const server = { apiUrl, token, timeoutMs, userAgent: USER_AGENT, ...(debug ? { trace: world.say } : {}) }
  const who = await whileSpinning(world, asking(server)('me.show', {}))
  // Whatever answers 200 to everything is no svc, and would be believed from then on.
  if (typeof who.user?.id !== 'string') {
    throw new ServiceError('UNEXPECTED', `${apiUrl.origin} does not answer like svc`, {
      hint: 'Is this the address of the API?',
    })
  }
  return who
}

async function addressFrom(world: World, call: Call): Promise<URL> {
  const given = textOption(call, 'api-url')
  const typed = given ?? (world.machine.env['SVC_API_URL'] || (await askAddress(world)))
  const url = apiAddress(typed, given === undefined ? 'The address' : '--api-url')
  if (isConfidential(url) || isSet(call, 'insecure-http')) return url
  throw usage(
    `The token would travel unencrypted to ${url.origin}`,
    `Write https://${url.host}, or add --insecure-http on a network you trust`,
  )
}

const askAddress = (world: World): Promise<string> => {
  if (world.settings.interactive) return readAnswer(world, 'Address of the instance: ')
  throw usage(
    'svc login needs --api-url',
    'For example: svc login --api-url https://api.example.com --api-key - < token.txt',
  )
}

async function tokenFrom(world: World, call: Call): Promise<string> {
  const given = textOption(call, 'api-key')
  if (given === '-') return checkedToken(await readInput(world, '--api-key'), 'What came on stdin')
  if (given !== undefined) {
    if (world.settings.interactive) {
      world.say(
        'A token on the command line can be seen by others on this machine and stays in the history of the shell; --api-key - reads it from stdin.',
      )
    }
    return checkedToken(given, '--api-key')
  }
  const kept = world.machine.env['SVC_API_KEY']
  if (kept) return checkedToken(kept, 'SVC_API_KEY')
  if (world.settings.interactive) {
    return checkedToken(await readSecret(world, 'API token (not shown): '), 'What was typed')
  }
  throw usage(
    'svc login needs an API token',
    'Make one in the console under Settings, API tokens, and pipe it in: --api-key - < token.txt',
  )
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/

function checkedName(name: string | undefined): string | undefined {
  if (name === undefined || (NAME.test(name) && name !== FROM_ENVIRONMENT)) return name
  throw usage(
    `A context cannot be called ${name}`,
    name === FROM_ENVIRONMENT
      ? 'That name stands for SVC_API_URL and SVC_API_KEY'
      : 'Take up to 63 letters, digits, dots, dashes and underscores',
  )
}

/** The login that this one renews; otherwise the instance's host, and a number where that is taken. */
function nameFor({ contexts }: Logins['config'], context: Context): string {
  const same = Object.keys(contexts).find((name) => isSameLogin(contexts[name]!, context))
  if (same !== undefined) return same
  const host = new URL(context.api_url).hostname.replaceAll(/[^A-Za-z0-9._-]+/g, '-')
  const base = host.replaceAll(/^[^A-Za-z0-9]+|-+$/g, '').slice(0, 50) || 'instance'
  let name = base
  for (let count = 2; Object.hasOwn(contexts, name) || name === FROM_ENVIRONMENT; count++)
    name = `${base}-${count}`
  return name
}

/** The same person in the same organization of the same instance. */
const isSameLogin = (a: Context, b: Context): boolean =>
  a.api_url === b.api_url && a.user.id === b.user.id && a.organization?.id === b.organization?.id

const taken = (name: string, there: Context): ServiceError =>
  new ServiceError(
    'CONFLICT',
    `The context ${name} is another login: ${there.user.email} at ${there.api_url}`,
    { hint: `Choose another name, or remove that one first: svc context remove ${name}` },
  )
