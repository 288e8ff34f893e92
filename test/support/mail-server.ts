/** A real mail server that keeps what it gets, and one that misbehaves at a chosen line of the conversation. */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

export type Arrived = {
  readonly to: string[]
  readonly sender: string
  readonly mail: Email
  readonly raw: Buffer
}

export type MailServer = {
  readonly url: string
  readonly arrived: Arrived[]
  /** What is said to the next messages instead of "queued"; undefined: they are taken. */
  answerWith(failure: Error | undefined): void
  close(): Promise<void>
}

export async function startMailServer(settings: SMTPServerOptions = {}): Promise<MailServer> {
  const arrived: Arrived[] = []
  let failure: Error | undefined
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    ...settings,
    async onData(stream, { envelope }, done) {
      const raw = await buffer(stream)
      const to = envelope.rcptTo.map(({ address }) => address)
      const sender = envelope.mailFrom ? envelope.mailFrom.address : ''
      if (!failure) arrived.push({ to, sender, mail: await PostalMime.parse(raw), raw })
      done(failure)
    },
  })
  server.on('error', () => {})
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  return {
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    arrived,
    answerWith: (next) => void (failure = next),
    close: () => new Promise((closed) => server.close(closed)),
  }
}

export const smtpFailure = (responseCode: number, message: string): Error =>
  Object.assign(new Error(message), { responseCode })

type Line = 'greeting' | 'EHLO' | 'MAIL' | 'RCPT' | 'DATA' | 'message'
/** `fin`, `rst`, `silence`, or a line to say. */
type Misdeed = string

export type FaultyMailServer = {
  readonly url: string
  readonly messages: string[]
  readonly commands: string[]
  close(): void
}

/**
 * At `line` it does `misdeed`: hangs up, resets, falls silent, or says that. Everywhere else it is polite, and so it is
 * to everybody after the first `victims`.
 */
export async function startFaultyMailServer(
  line: Line,
  misdeed: Misdeed,
  victims = Infinity,
): Promise<FaultyMailServer> {
  const [messages, commands]: [string[], string[]] = [[], []]
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    const isPolite = sockets.size > victims
    const say = (at: Line, politely: string) => {
      if (at !== line || isPolite) return void socket.write(`${politely}\r\n`)
      if (misdeed === 'fin') return void socket.end()
      if (misdeed === 'rst') return void socket.resetAndDestroy()
      if (misdeed === 'silence') return
      // RFC 5321, 3.8: who says 421 also hangs up.
      const said = `${misdeed}\r\n`
      if (misdeed.startsWith('421')) socket.end(said)
      else socket.write(said)
    }
    let heard = ''
    let inMessage = false
    socket.on('data', (chunk) => {
      heard += chunk.toString('latin1')
      for (;;) {
        if (inMessage) {
          const end = heard.indexOf('\r\n.\r\n')
          if (end < 0) return
          messages.push(heard.slice(0, end))
          heard = heard.slice(end + 5)
          inMessage = false
          say('message', '250 queued')
        }
        const end = heard.indexOf('\r\n')
        if (end < 0) return
        const command = heard.slice(0, end)
        heard = heard.slice(end + 2)
        commands.push(command)
        if (command.startsWith('EHLO')) say('EHLO', '250 mail.test')
        else if (command.startsWith('MAIL')) say('MAIL', '250 ok')
        else if (command.startsWith('RCPT')) say('RCPT', '250 ok')
        else if (command === 'DATA') {
          inMessage = line !== 'DATA' || isPolite
          say('DATA', '354 go on')
        } else if (command === 'QUIT') socket.end('221 bye\r\n')
        else socket.write('250 ok\r\n')
      }
    })
    say('greeting', '220 mail.test ESMTP')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    messages,
    commands,
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
