/** The adapters of the channels, as this installation's settings have them; each is loaded with its first message. */
import { readFileSync } from 'node:fs'
import { ConfigProblems, isRsaKey, type Config } from './config.ts'
import type { ChannelPorts, ChatApp, IntegrationChecks } from '../cores/notifications/index.ts'
import { VERSION } from './version.ts'

export type ChannelAdapters = {
  readonly channels: ChannelPorts
  readonly checks: IntegrationChecks
  /** Null where the operator has set up no app at a chat service. */
  readonly chatApp: ChatApp | null
  close(): Promise<void>
}

export async function createChannelAdapters(config: Config): Promise<ChannelAdapters> {
  const sending = () => import('../adapters/outbound/guarded-post.ts')
  const guarded = once(async () => (await sending()).outbound(config.NOTIFY_ALLOW_NETS))
  const chatPost = once(async () => (await sending()).toOperatorAddress())
  const mail = mailOf(config)

  return {
    channels: {
      webhook: lazy(async () => {
        const { sendWebhook } = await import('../adapters/outbound/send-webhook.ts')
        return sendWebhook((await guarded()).post, `svc/${VERSION}`)
      }),
      chat: lazy(async () => {
        const { sendChatWebhook } = await import('../adapters/chat/incoming-webhook.ts')
        return sendChatWebhook((await guarded()).post)
      }),
      direct_message: lazy(async () => {
        const [{ sendDirectMessage }, { webApi }] = await Promise.all([
          import('../adapters/chat/direct-message.ts'),
          import('../adapters/chat/web-api.ts'),
        ])
        return sendDirectMessage(webApi(await chatPost(), config.CHAT_URL))
      }),
      email: mail && lazy(async () => (await mail()).send),
      forum: lazy(async () => {
        const { postToForum } = await import('../adapters/forum/discourse.ts')
        return postToForum((await guarded()).post)
      }),
    },
    checks: {
      isAllowed: async (url, orgId) => (await guarded()).isAllowed(url, orgId),
      forumKey: lazy(async () => {
        const { checkForumKey } = await import('../adapters/forum/discourse.ts')
        return checkForumKey((await guarded()).post)
      }),
    },
    chatApp: await chatAppOf(config, chatPost),
    async close() {
      ;(await mail?.current())?.close()
      ;(await guarded.current())?.close()
    },
  }
}

type Once<T> = (() => Promise<T>) & { current(): Promise<T> | undefined }

function once<T>(make: () => Promise<T>): Once<T> {
  let current: Promise<T> | undefined
  return Object.assign(() => (current ??= make()), { current: () => current })
}

/** A function that is loaded when it is first called. */
function lazy<In, Out>(load: () => Promise<(input: In) => Promise<Out>>): (input: In) => Promise<Out> {
  const loaded = once(load)
  return async (input) => (await loaded())(input)
}

function mailOf(config: Config) {
  const { SMTP_URL: url, MAIL_FROM: from } = config
  if (url === undefined || from === undefined) return null
  const key = dkimKeyOf(config)
  return once(async () => {
    const { domainOf, notificationMail } = await import('../adapters/mail/notification-mail.ts')
    const domain = config.DKIM_DOMAIN ?? domainOf(from)
    const selector = config.DKIM_SELECTOR ?? ''
    return notificationMail({
      url,
      from,
      ...(key !== undefined && { dkim: { domain, selector, privateKey: key } }),
    })
  })
}

/** Read at the start, so that a missing key fails the start and not the first mail. */
function dkimKeyOf({ DKIM_PRIVATE_KEY: setting }: Config): string | undefined {
  if (setting === undefined || setting.startsWith('-----')) return setting
  const key = readKey(setting)
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

/** Where the chat service redirects to: pages of the console. */
const INSTALL_CALLBACK_PATH = '/console/integrations/chat/callback'
const LINK_CALLBACK_PATH = '/console/profile/notifications/chat/callback'

async function chatAppOf(
  { CHAT_CLIENT_ID: clientId, CHAT_CLIENT_SECRET: clientSecret, CHAT_URL: chatUrl, APP_URL }: Config,
  chatPost: () => Promise<import('../adapters/outbound/guarded-post.ts').GuardedPost>,
): Promise<ChatApp | null> {
  if (clientId === undefined || clientSecret === undefined) return null
  const { chatApp } = await import('../adapters/chat/chat-app.ts')
  return chatApp(
    {
      clientId,
      clientSecret,
      chatUrl,
      installedAt: new URL(INSTALL_CALLBACK_PATH, APP_URL),
      linkedAt: new URL(LINK_CALLBACK_PATH, APP_URL),
    },
    async (message) => (await chatPost())(message),
  )
}
