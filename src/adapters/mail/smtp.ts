/** Mail over SMTP. nodemailer is loaded with the first message: most starts never send one. */
import type { Message } from '../../cores/dependencies.ts'

const TIMEOUT_MS = 10_000

export function smtpMail(options: { url: string; from: string }): (message: Message) => Promise<void> {
  let transport: Promise<import('nodemailer').Transporter> | undefined
  return async ({ to, subject, text, html }) => {
    transport ??= import('nodemailer').then(({ createTransport }) =>
      createTransport(withDefaults(options.url, TIMEOUTS), { from: options.from }),
    )
    const sending = (await transport).sendMail({
      // An object, not a string: a crafted address must not become two.
      to: { name: '', address: to },
      subject,
      text,
      html,
      disableFileAccess: true,
      disableUrlAccess: true,
    })
    await withinTime(sending)
  }
}

/** A silent server must not keep sockets either. */
const TIMEOUTS = { connectionTimeout: TIMEOUT_MS, greetingTimeout: TIMEOUT_MS, socketTimeout: TIMEOUT_MS }

/** What the operator set in the address goes first. */
export function withDefaults(address: string, defaults: Record<string, string | number | boolean>): string {
  const url = new URL(address)
  for (const [name, value] of Object.entries(defaults)) {
    if (!url.searchParams.has(name)) url.searchParams.set(name, String(value))
  }
  return url.href
}

async function withinTime(sending: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('the mail server did not answer in time')), TIMEOUT_MS)
  })
  try {
    await Promise.race([sending, late])
  } finally {
    clearTimeout(timer)
  }
}
