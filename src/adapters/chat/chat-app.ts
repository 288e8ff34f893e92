/** The operator's app at the chat service: installing it in a workspace, and finding out who somebody is there. */
import * as z from 'zod'
import { readJson } from '../../contracts/read-json.ts'
import type {
  ChatApp,
  ChatInstallation,
  ChatPerson,
} from '../../cores/notifications/channels/channel-ports.ts'
import type { GuardedPost } from '../outbound/guarded-post.ts'
import { readIdToken } from './id-token.ts'
import { webApi, type Said, type WebApi } from './web-api.ts'

export type ChatAppSettings = {
  readonly clientId: string
  readonly clientSecret: string
  readonly chatUrl: URL
  /** Where people come back to: pages of the console. */
  readonly installedAt: URL
  readonly linkedAt: URL
}

/** One channel to write to, and messages to people; nothing is read. */
const INSTALL_SCOPES = 'incoming-webhook,chat:write'
/** No `email`: what is not asked for cannot be kept. */
const LINK_SCOPES = 'openid profile'

export function chatApp(settings: ChatAppSettings, post: GuardedPost, now: () => number = Date.now): ChatApp {
  const { clientId, clientSecret, chatUrl, installedAt, linkedAt } = settings
  const call = webApi(post, chatUrl)
  const swap = (path: string, code: string, back: URL) =>
    ask(call, {
      path,
      form: {
        client_id: clientId,
        client_secret: clientSecret,
        code,
        grant_type: 'authorization_code',
        redirect_uri: back.href,
      },
    })

  return {
    installUrl: (state) =>
      pageOf(chatUrl, '/oauth/v2/authorize', {
        client_id: clientId,
        scope: INSTALL_SCOPES,
        redirect_uri: installedAt.href,
        state,
      }),

    async install(code) {
      return installationFrom(await swap('/api/oauth.v2.access', code, installedAt))
    },

    linkUrl: ({ state, nonce, teamId }) =>
      pageOf(chatUrl, '/openid/connect/authorize', {
        response_type: 'code',
        client_id: clientId,
        scope: LINK_SCOPES,
        redirect_uri: linkedAt.href,
        team: teamId,
        state,
        nonce,
      }),

    async identify({ code, nonce }) {
      const tokens = Tokens.safeParse(await swap('/api/openid.connect.token', code, linkedAt)).data
      if (!tokens) return undefined
      try {
        const keys = await publishedKeys(post, chatUrl)
        const issuer = chatUrl.origin
        const claims = readIdToken(tokens.id_token, { issuer, audience: clientId, nonce, keys, nowMs: now() })
        return personFrom(claims)
      } finally {
        // It could read their profile as long as it lives, and nobody here needs it.
        await call({ path: '/api/auth.revoke', token: tokens.access_token, form: {} })
      }
    },
  }
}

function pageOf(chatUrl: URL, path: string, query: Record<string, string>): string {
  const url = new URL(path, chatUrl)
  url.search = new URLSearchParams(query).toString()
  return url.href
}

/** What it said, or that it did not take the code; no answer at all is nobody's refusal and is thrown. */
async function ask(call: WebApi, what: Parameters<WebApi>[0]): Promise<Said | undefined> {
  const { said } = await call(what)
  if (!said) throw new Error('the chat service did not answer')
  return said.ok ? said : undefined
}

async function publishedKeys(post: GuardedPost, chatUrl: URL): Promise<unknown> {
  const url = new URL('/openid/connect/keys', chatUrl).href
  const posted = await post({ method: 'GET', url, headers: {}, redirects: 0 })
  const keys = posted.kind === 'answered' && posted.status === 200 ? readJson(posted.text) : undefined
  if (keys === undefined) throw new Error('the chat service shows no keys')
  return keys
}

const Tokens = z.looseObject({ id_token: z.string(), access_token: z.string() })

/** Of one workspace: an installation for a whole enterprise names none, and there is nobody to link there. */
const Installed = z.looseObject({
  access_token: z.string().min(1),
  team: z.looseObject({ id: z.string().min(1), name: z.string().optional() }),
  incoming_webhook: z.looseObject({ url: z.string().min(1), channel: z.string() }),
})

function installationFrom(said: Said | undefined): ChatInstallation | undefined {
  const installed = Installed.safeParse(said).data
  return (
    installed && {
      teamId: installed.team.id,
      teamName: installed.team.name ?? '',
      channel: installed.incoming_webhook.channel,
      webhookUrl: installed.incoming_webhook.url,
      botToken: installed.access_token,
    }
  )
}

/** Slack's own names, which services that copy it keep. */
const Person = z.looseObject({
  'https://slack.com/team_id': z.string().min(1),
  'https://slack.com/user_id': z.string().min(1),
  name: z.string().optional(),
})

function personFrom(claims: unknown): ChatPerson | undefined {
  const person = Person.safeParse(claims).data
  return (
    person && {
      teamId: person['https://slack.com/team_id'],
      chatUserId: person['https://slack.com/user_id'],
      displayName: person.name ?? person['https://slack.com/user_id'],
    }
  )
}
