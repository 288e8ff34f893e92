/** The ways out of this installation, as its settings have them; each is loaded when the first message takes it. */
import { readFileSync } from 'node:fs'
import { ConfigProblems, isRsaKey, type Config } from './config.ts'
import type { Channels, ChatApp, ConnectionChecks } from './cores/notifications/index.ts'
import { VERSION } from './version.ts'

export type WaysOut = {
  readonly channels: Channels
  readonly checks: ConnectionChecks
  /** Null where the operator has set up no app at a chat service. */
  readonly chatApp: ChatApp | null
  close(): Promise<void>
}

export async function createWaysOut(config: Config): Promise<WaysOut> {
  const guarded = once(async () => {
    const { outbound } = await import('./adapters/outbound/guarded-post.ts')
    return outbound({ allowNets: config.NOTIFY_ALLOW_NETS })
  })
  const toChat = once(async () => {
    const { toOperatorAddress } = await import('./adapters/outbound/operator-address.ts')
    return toOperatorAddress()
  })
  const mail = mailOf(config)

  return {
    channels: {
      webhook: later(async () => {
        const { sendWebhook } = await import('./adapters/outbound/send-webhook.ts')
        return sendWebhook((await guarded()).post, `svc/${VERSION}`)
      }),
      chatWebhook: later(async () => {
        const { sendChatWebhook } = await import('./adapters/chat/incoming-webhook.ts')
        return sendChatWebhook((await guarded()).post)
      }),
      directMessage: later(async () => {
        const [{ sendDirectMessage }, { webApi }] = await Promise.all([
          import('./adapters/chat/direct-message.ts'),
          import('./adapters/chat/web-api.ts'),
        ])
        return sendDirectMessage(webApi(await toChat(), config.CHAT_URL))
      }),
      email: mail && later(async () => (await mail()).send),
      forum: later(async () => {
        const { postToForum } = await import('./adapters/forum/discourse.ts')
        return postToForum((await guarded()).post)
      }),
    },
    checks: {
      isAllowed: async (url) => (await guarded()).isAllowed(url),
      forumKey: later(async () => {
        const { checkForumKey } = await import('./adapters/forum/discourse.ts')
        return checkForumKey((await guarded()).post)
      }),
    },
    chatApp: await chatAppOf(config, toChat),
    close: async () => (await mail?.made())?.close(),
  }
}

type Once<T> = (() => Promise<T>) & { made(): Promise<T> | undefined }

function once<T>(make: () => Promise<T>): Once<T> {
  let made: Promise<T> | undefined
  return Object.assign(() => (made ??= make()), { made: () => made })
}

/** A function that is fetched when it is first called. */
function later<In, Out>(load: () => Promise<(given: In) => Promise<Out>>): (given: In) => Promise<Out> {
  const loaded = once(load)
  return async (given) => (await loaded())(given)
}

function mailOf(config: Config) {
  const { SMTP_URL: url, MAIL_FROM: from } = config
  if (url === undefined || from === undefined) return null
  const key = dkimKeyOf(config)
  return once(async () => {
    const { domainOf, notificationMail } = await import('./adapters/mail/notification-mail.ts')
    const domain = config.DKIM_DOMAIN ?? domainOf(from)
    const selector = config.DKIM_SELECTOR ?? ''
    return notificationMail({
      url,
      from,
      ...(key !== undefined && { dkim: { domain, selector, privateKey: key } }),
    })
  })
}

/** Read at the start, so that a key that is not there is told to whoever starts it and not to a log at night. */
function dkimKeyOf({ DKIM_PRIVATE_KEY: given }: Config): string | undefined {
  if (given === undefined || given.startsWith('-----')) return given
  const key = readKey(given)
  if (!isRsaKey(key)) throw new ConfigProblems(['DKIM_PRIVATE_KEY: the file holds no RSA private key in PEM'])
  return key
}

function readKey(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    // Not by name: it may be the key itself, without its first line.
    throw new ConfigProblems(['DKIM_PRIVATE_KEY: the file cannot be read'])
  }
}

/** Where people come back to from the chat service: pages of the console. */
const INSTALLED_PATH = '/console/integrations/chat/callback'
const LINKED_PATH = '/console/profile/notifications/chat/callback'

async function chatAppOf(
  { CHAT_CLIENT_ID: clientId, CHAT_CLIENT_SECRET: clientSecret, CHAT_URL: chatUrl, APP_URL }: Config,
  toChat: () => Promise<import('./adapters/outbound/guarded-post.ts').GuardedPost>,
): Promise<ChatApp | null> {
  if (clientId === undefined || clientSecret === undefined) return null
  const { chatApp } = await import('./adapters/chat/chat-app.ts')
  return chatApp(
    {
      clientId,
      clientSecret,
      chatUrl,
      installedAt: new URL(INSTALLED_PATH, APP_URL),
      linkedAt: new URL(LINKED_PATH, APP_URL),
    },
    async (message) => (await toChat())(message),
  )
}
