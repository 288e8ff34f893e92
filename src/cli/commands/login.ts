/** `svc login`: signs in, or takes an API token, verifies it with its server, then saves it as a context. */
import { ServiceError } from '../../contracts/errors.ts'
import { isConfidential, parseApiUrl } from '../api-url.ts'
import type { CommandContext } from '../command-context.ts'
import type { CommandInput, Run } from '../command.ts'
import { configPaths, type SavedContext, type StoredConfig } from '../config-files.ts'
import { endLogin } from '../end-login.ts'
import { isElsewhere, type LoginTokens } from '../login-endpoint.ts'
import { isSet, textOption } from '../options.ts'
import { promptLine, promptSecret, readStdin } from '../prompt.ts'
import { checkedToken, ENV_CONTEXT } from '../resolve-context.ts'
import { updateConfig } from '../update-config.ts'
import { usageError } from '../usage-error.ts'
import { canShow } from '../web-page.ts'

export const login: Run = async (ctx, input) => {
  const named = checkedName(ctx.settings.context)
  const apiUrl = await apiUrlFrom(ctx, input)
  const { token, login: signedIn } = await tokensFrom(ctx, input, apiUrl)
  const { user, organization, role } = await verifyToken(ctx, apiUrl, token).catch(async (error: unknown) => {
    if (signedIn) await endLogin(ctx, apiUrl, signedIn)
    throw error
  })
  const context: SavedContext = {
    api_url: apiUrl.origin,
    user: { id: user.id, email: user.email },
    organization: organization && { id: organization.id, name: organization.name },
    ...(isConfidential(apiUrl) ? {} : { insecure_http: true }),
  }

  const paths = configPaths(ctx.environment)
  const saving = updateConfig(paths, (stored) => {
    const name = named ?? nameFor(stored.config, context)
    const existing = Object.hasOwn(stored.config.contexts, name) ? stored.config.contexts[name] : undefined
    if (existing && !isSameAccount(existing, context)) throw nameTaken(name, existing)
    stored.config.contexts[name] = { ...existing, ...context }
    const { credentials } = stored
    const before = credentials.logins?.[name]
    credentials.tokens[name] = token
    if (signedIn) credentials.logins = { ...credentials.logins, [name]: signedIn }
    else delete credentials.logins?.[name]
    if (isSet(input, 'use') || stored.config.current === undefined) stored.config.current = name
    return { name, isCurrent: stored.config.current === name, before }
  })
  // What is saved nowhere, or no longer, nobody would use or end.
  const { name, isCurrent, before } = await saving.catch(async (error: unknown) => {
    if (signedIn) await endLogin(ctx, apiUrl, signedIn)
    throw error
  })
  if (before) await endLogin(ctx, apiUrl, before)

  if ((ctx.settings.format ?? 'table') !== 'table') {
    ctx.print(
      {
        context: name,
        current: isCurrent,
        api_url: apiUrl.origin,
        user,
        organization,
        role,
        token_location: paths.credentials,
      },
      { text: '' },
    )
  }
  const where = organization ? `${role} of ${organization.name}` : 'not a member of an organization yet'
  ctx.info(`Logged in to ${apiUrl.origin} as ${user.email}, ${where}.`)
  ctx.info(`Saved the ${signedIn ? 'login' : 'token'} to ${paths.credentials}, readable only by you.`)
  ctx.info(
    isCurrent
      ? `Current context: ${name}`
      : `Saved as context ${name}. Switch to it with: svc context use ${name}`,
  )
}

/** Before anything is saved: an invalid token must not replace a valid one. */
async function verifyToken(ctx: CommandContext, apiUrl: URL, token: string) {
  const who = await ctx.clientFor({ apiUrl, token })('whoAmI', {})
  // A server that answers 200 to everything is not svc.
  if (typeof who.user?.id !== 'string') {
    throw new ServiceError('UNEXPECTED', `${apiUrl.origin} is not an svc server`, {
      hint: 'Check that this is the URL of the API.',
    })
  }
  return who
}

async function apiUrlFrom(ctx: CommandContext, input: CommandInput): Promise<URL> {
  const given = textOption(input, 'api-url')
  const typed = given ?? (ctx.environment.env['SVC_API_URL'] || (await promptUrl(ctx)))
  const url = parseApiUrl(typed, given === undefined ? 'The URL' : '--api-url')
  if (isConfidential(url) || isSet(input, 'insecure-http')) return url
  throw usageError(
    `The token would be sent unencrypted to ${url.origin}`,
    `Use https://${url.host}, or add --insecure-http on a network you trust`,
  )
}

const promptUrl = (ctx: CommandContext): Promise<string> => {
  if (ctx.settings.interactive) return promptLine(ctx, 'URL of the instance: ')
  throw usageError('svc login requires --api-url', 'Example: svc login --api-url https://api.example.com')
}

/** As gh does: in the browser; with a code where there is none; with a token where one is given. */
async function tokensFrom(
  ctx: CommandContext,
  input: CommandInput,
  apiUrl: URL,
): Promise<Partial<Pick<LoginTokens, 'login'>> & Pick<LoginTokens, 'token'>> {
  const token = await givenToken(ctx, input)
  if (token !== undefined) return { token }
  if (!isSet(input, 'device') && !ctx.settings.interactive) {
    throw usageError(
      'Nobody is at this terminal to sign in',
      'Pipe in an API token: --api-key - < token.txt, or show a code to somebody who signs in elsewhere: --device',
    )
  }
  // Loaded here: an API token needs none of it.
  const { signInByBrowser, signInByDevice } = await import('../sign-in.ts')
  try {
    const inBrowser =
      !isSet(input, 'device') && canShow(ctx.environment) ? await signInByBrowser(ctx, apiUrl) : undefined
    return inBrowser ?? (await signInByDevice(ctx, apiUrl))
  } catch (error) {
    if (!isElsewhere(error) || isSet(input, 'device') || !ctx.settings.interactive) throw error
    ctx.info('This instance does not sign in the client. Create an API token in the console.')
    return { token: checkedToken(await promptSecret(ctx, 'API token (hidden): '), 'The input') }
  }
}

async function givenToken(ctx: CommandContext, input: CommandInput): Promise<string | undefined> {
  const given = textOption(input, 'api-key')
  if (given !== undefined && isSet(input, 'device'))
    throw usageError('--api-key conflicts with --device', 'Remove one of them')
  if (given === '-') return checkedToken(await readStdin(ctx, '--api-key'), 'The input on stdin')
  if (given !== undefined) {
    ctx.info(
      'warning: other users can see a token on the command line, and your shell history keeps it. Use --api-key - to read it from stdin.',
    )
    return checkedToken(given, '--api-key')
  }
  const fromEnv = isSet(input, 'device') ? undefined : ctx.environment.env['SVC_API_KEY']
  return fromEnv ? checkedToken(fromEnv, 'SVC_API_KEY') : undefined
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/

function checkedName(name: string | undefined): string | undefined {
  if (name === undefined || (NAME.test(name) && name !== ENV_CONTEXT)) return name
  throw usageError(
    `Invalid context name: ${name}`,
    name === ENV_CONTEXT
      ? 'This name is reserved for SVC_API_URL and SVC_API_KEY'
      : 'Use up to 63 letters, digits, dots, dashes and underscores',
  )
}

/** The context of the same account, which is renewed; otherwise the host, with a number where that is taken. */
function nameFor({ contexts }: StoredConfig['config'], context: SavedContext): string {
  const same = Object.keys(contexts).find((name) => isSameAccount(contexts[name]!, context))
  if (same !== undefined) return same
  const host = new URL(context.api_url).hostname.replaceAll(/[^A-Za-z0-9._-]+/g, '-')
  const base = host.replaceAll(/^[^A-Za-z0-9]+|-+$/g, '').slice(0, 50) || 'instance'
  let name = base
  for (let count = 2; Object.hasOwn(contexts, name) || name === ENV_CONTEXT; count++)
    name = `${base}-${count}`
  return name
}

/** The same user in the same organization of the same instance. */
const isSameAccount = (a: SavedContext, b: SavedContext): boolean =>
  a.api_url === b.api_url && a.user.id === b.user.id && a.organization?.id === b.organization?.id

const nameTaken = (name: string, existing: SavedContext): ServiceError =>
  new ServiceError(
    'CONFLICT',
    `Context ${name} belongs to another account: ${existing.user.email} at ${existing.api_url}`,
    { hint: `Choose another name, or remove it first: svc context remove ${name}` },
  )
