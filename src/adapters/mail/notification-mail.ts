/** Notifications by mail: signed, threaded, with one-click unsubscribe, and an honest outcome. */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type {
  ChannelPayloads,
  ChannelPort,
  Outcome,
} from '../../cores/notifications/channels/channel-ports.ts'
import { withDefaults } from './smtp.ts'

export type MailSettings = {
  readonly url: string
  readonly from: string
  readonly dkim?:
    | { readonly domain: string; readonly selector: string; readonly privateKey: string }
    | undefined
}

export type NotificationMail = {
  readonly send: ChannelPort<'email'>
  close(): void
}

const CONNECTION_MS = 10_000
const SOCKET_MS = 30_000
/** Over all of one message, the wait for a free connection included: the attempt's lease is longer. */
const DEADLINE_MS = 40_000

/**
 * RFC 8058, 3.2: the signature must cover both list headers; nodemailer's own list leaves the second one out.
 */
const SIGNED_HEADERS =
  'from:sender:reply-to:subject:date:message-id:to:mime-version:content-type:in-reply-to:references:list-id:list-unsubscribe:list-unsubscribe-post:auto-submitted'

const POOL = {
  pool: true,
  maxConnections: 3,
  // A kept connection may be dead by now, and that is found out before the message.
  maxRequeues: 1,
  connectionTimeout: CONNECTION_MS,
  greetingTimeout: CONNECTION_MS,
  socketTimeout: SOCKET_MS,
}

type Transport = import('nodemailer').Transporter

/** `deadlineMs` is for tests, which cannot wait. */
export function notificationMail(settings: MailSettings, deadlineMs = DEADLINE_MS): NotificationMail {
  const domain = domainOf(settings.from)
  let transport: Promise<Transport> | undefined
  return {
    async send(mail) {
      // Loaded with the first message: most starts never send one.
      transport ??= openTransport(settings)
      return sendOnce(await transport, messageFor(mail, domain), deadlineMs)
    },
    close: () => void transport?.then((open) => open.close()),
  }
}

/** Of Message-IDs and list names; the sender's, so that they are ours to give. */
export const domainOf = (from: string): string =>
  /@([^\s<>@]+)>?\s*$/.exec(from)?.[1]?.toLowerCase() ?? 'localhost'

async function openTransport({ url, from, dkim }: MailSettings): Promise<Transport> {
  const [{ createTransport }, { default: Dkim }] = await Promise.all([
    import('nodemailer'),
    import('nodemailer/lib/dkim/index.js'),
  ])
  const signer =
    dkim &&
    new Dkim({
      domainName: dkim.domain,
      keySelector: dkim.selector,
      privateKey: dkim.privateKey,
      headerFieldNames: SIGNED_HEADERS,
    })
  const transport = createTransport(withDefaults(url, POOL), {
    from,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  // Signed here and not by the transport, which would do so last and read the message before its time.
  transport.use('stream', ({ message, data }, done) => {
    if (signer) message.processFunc((input) => signer.sign(input))
    message.processFunc((input) => watched(input, (data as Partial<Watched>).progress))
    done()
  })
  return transport
}

function messageFor(mail: ChannelPayloads['email'], domain: string) {
  const thread = mail.threadKey === null ? undefined : `<thr-${digestOf(mail.threadKey)}@${domain}>`
  return {
    // An object, not a string: a crafted address must not become two.
    to: { name: '', address: mail.to },
    subject: oneLine(mail.subject),
    text: mail.text,
    html: mail.html,
    // Of the message, not of the attempt: a mailbox that gets it twice after all may show it once.
    messageId: `<${mail.messageId}@${domain}>`,
    ...(thread !== undefined && { inReplyTo: thread, references: [thread] }),
    headers: {
      // RFC 3834, 5: so that an absence note is not sent back to a machine.
      'Auto-Submitted': 'auto-generated',
      'List-Id': prepared(`<${mail.listId}.${domain}>`),
      // Not by the library's `list`, which folds the address onto a line of its own; some relays unfold it, and the
      // signature breaks.
      'List-Unsubscribe': prepared(`<${mail.unsubscribeUrl}>`),
      'List-Unsubscribe-Post': prepared('List-Unsubscribe=One-Click'),
    },
  }
}

const prepared = (value: string) => ({ prepared: true, value: oneLine(value) })
const oneLine = (text: string) => text.replaceAll(/[\r\n\u0085\u2028\u2029]+/g, ' ')
const digestOf = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 22)

/** How far a message came: until its text is asked for, the server has not said that it would take it. */
type Progress = { begun: boolean; abandoned: boolean }
type Watched = { readonly progress: Progress }

/** The library itself cannot say whether a connection broke before or after the message went over it. */
function watched(input: Readable, progress: Progress | undefined): Readable {
  async function* read(): AsyncGenerator<Uint8Array> {
    // Nobody waits for it any more, and it was recorded as not sent; or the pool tries it on another connection.
    if (progress?.abandoned || progress?.begun) throw new Error('not once more')
    if (progress) progress.begun = true
    yield* input as AsyncIterable<Uint8Array>
  }
  return Readable.from(read(), { objectMode: false })
}

async function sendOnce(
  transport: Transport,
  message: ReturnType<typeof messageFor>,
  deadlineMs: number,
): Promise<Outcome> {
  const progress: Progress = { begun: false, abandoned: false }
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Outcome>((resolve) => {
    timer = setTimeout(() => {
      progress.abandoned = true
      resolve(outcomeOf({}, progress))
    }, deadlineMs)
  })
  const watchedMessage: typeof message & Watched = { ...message, progress }
  const sending = transport.sendMail(watchedMessage).then(
    (): Outcome => ({ kind: 'sent' }),
    (error: SmtpError) => outcomeOf(error, progress),
  )
  try {
    return await Promise.race([sending, late])
  } finally {
    clearTimeout(timer)
  }
}

type SmtpError = { code?: string; responseCode?: number; command?: string; response?: string }

/**
 * RFC 5321, 4.5.4.1 would have us send again after a lost connection and rather deliver twice; here a message that may
 * have been taken is never sent again by itself.
 */
function outcomeOf(error: SmtpError, { begun }: Progress): Outcome {
  const { code, responseCode = 0 } = error
  const refused = { kind: 'refused', reason: 'refused', retry: false } as const
  // An answer to the message itself; any other end after its first byte leaves it open.
  if (begun && !(code === 'EMESSAGE' && responseCode >= 400)) return { kind: 'unknown' }
  if (responseCode >= 500)
    return { ...refused, reason: isNoSuchMailbox(error) ? 'address_suppressed' : 'refused' }
  if (responseCode >= 400) return { ...refused, reason: 'server_error', retry: true }
  // Not even put to the server: no address in what should be one.
  if (code === 'EENVELOPE') return refused
  return { ...refused, reason: 'not_reached', retry: true }
}

/**
 * Of the recipient, and not of us: a relay that does not know us also says 550 (RFC 3463: 5.7), and must not cost
 * anybody their mail for good.
 */
function isNoSuchMailbox({ command, responseCode = 0, response = '' }: SmtpError): boolean {
  if (command !== 'RCPT TO' || ![550, 551, 553].includes(responseCode)) return false
  const enhanced = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response)?.[1]
  return enhanced === undefined || enhanced.startsWith('5.1.') || enhanced === '5.2.1'
}
