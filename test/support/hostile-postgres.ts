/**
 * A server that speaks the Postgres protocol to the point where it sends one message that does not belong there. What it
 * does is chosen by the user that logs in, `<moment> <message>`, so that one server plays every part.
 */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { cString, int32, message } from '../../db/wire/protocol-messages.ts'

const int16 = (value: number): Buffer => Buffer.from([value >> 8, value & 255])
const authentication = (code: number, rest = ''): Buffer =>
  message('R', int32(code), Buffer.from(rest, 'latin1'))

const columns = (...names: string[]): Buffer =>
  message(
    'T',
    int16(names.length),
    ...names.map((name) => Buffer.concat([cString(name), int32(0), int16(0), int32(25), Buffer.alloc(8)])),
  )
const row = (...values: string[]): Buffer =>
  message(
    'D',
    int16(values.length),
    ...values.map((value) => Buffer.concat([int32(value.length), Buffer.from(value)])),
  )
const failure = message('E', ...['SERROR', 'VERROR', 'C42P01', 'Mno'].map(cString), Buffer.alloc(1))
const READY = message('Z', Buffer.from('I'))
const LOGGED_IN = Buffer.concat([authentication(0), message('K', int32(1), int32(2)), READY])

/** Every kind of message a server can send, some of them in several forms, and some that no server knows. */
export const HOSTILE_MESSAGES: Readonly<Record<string, Buffer>> = {
  ...Object.fromEntries(
    [0, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 99].map((code) => [`authentication-${code}`, authentication(code)]),
  ),
  'authentication-sasl': authentication(10, 'SCRAM-SHA-256\0\0'),
  'authentication-costly': authentication(11, 'r=a,s=c2FsdA==,i=2000000000'),
  'authentication-short': message('R', Buffer.from('a')),
  'key-data': message('K', int32(1), int32(2)),
  'key-data-short': message('K'),
  'parameter-status': message('S', cString('TimeZone'), cString('UTC')),
  'parameter-status-endless': message('S', Buffer.from('abc')),
  ready: READY,
  'ready-failed': message('Z', Buffer.from('E')),
  'ready-short': message('Z'),
  columns: columns('a', 'b'),
  'columns-endless': message('T', int16(1), Buffer.from('abc')),
  'columns-many': message('T', int16(65_535)),
  'columns-short': message('T'),
  row: row('1', '2', '3'),
  'row-short': message('D'),
  'row-beyond': message('D', int16(1), int32(1_000), Buffer.from('x')),
  'row-negative': message('D', int16(1), int32(-2), Buffer.from('x')),
  'row-many': message('D', int16(65_535)),
  complete: message('C', cString('SELECT 1')),
  'complete-short': message('C'),
  error: failure,
  'error-empty': message('E'),
  'error-fatal': message('E', ...['SFATAL', 'VFATAL', 'C57P01', 'Mbye'].map(cString), Buffer.alloc(1)),
  'error-endless': message('E', Buffer.from('Mno end')),
  notice: message('N', ...['SNOTICE', 'C00000', 'Mhi'].map(cString), Buffer.alloc(1)),
  'notice-empty': message('N'),
  notification: message('A', int32(1), cString('channel'), cString('payload')),
  'notification-empty': message('A'),
  'copy-in': message('G', Buffer.from([0]), int16(0)),
  'copy-out': message('H', Buffer.from([0]), int16(0)),
  'copy-both': message('W', Buffer.from([0]), int16(0)),
  'copy-data': message('d', Buffer.from('data')),
  'copy-done': message('c'),
  'empty-query': message('I'),
  'no-data': message('n'),
  'portal-suspended': message('s'),
  'parameter-description': message('t', int16(1), int32(25)),
  'parameter-description-many': message('t', int16(65_535)),
  'parse-complete': message('1'),
  'bind-complete': message('2'),
  'close-complete': message('3'),
  'function-result': message('V', int32(-1)),
  'protocol-version': message('v', int32(0), int32(0)),
  unknown: message('!', Buffer.from('what')),
  'letter-x': message('X'),
  'letter-zero': Buffer.from([0, 0, 0, 0, 4]),
  'length-zero': Buffer.from('D\0\0\0\0', 'latin1'),
  'length-four-gigabytes': Buffer.from('D\xff\xff\xff\xff', 'latin1'),
  garbage: Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'),
}

/** At connect; instead of a login; after the password; after the login; instead of an answer; amid its rows; after it. */
export const HOSTILE_MOMENTS = [
  'connect',
  'start-up',
  'password',
  'login',
  'answer',
  'rows',
  'afterward',
] as const
type Moment = (typeof HOSTILE_MOMENTS)[number]

export type HostilePostgres = {
  readonly port: number
  /** Connections that were made to it so far. */
  dials(): number
  close(): Promise<void>
}

/** `onDial` sees every connection first, and keeps it when it returns true. */
export async function startHostilePostgres(
  onDial: (socket: Socket) => boolean | void = () => {},
): Promise<HostilePostgres> {
  const open = new Set<Socket>()
  let dials = 0
  const server = createServer((socket) => {
    dials += 1
    open.add(socket.on('error', () => {}).on('close', () => open.delete(socket)))
    if (onDial(socket) !== true) play(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    dials: () => dials,
    close: () =>
      new Promise((closed) => {
        for (const socket of open) socket.destroy()
        server.close(() => closed())
      }),
  }
}

function play(socket: Socket): void {
  let moment: Moment = 'start-up'
  let [chosen, bad]: (string | Buffer)[] = ['', Buffer.alloc(0)]
  const send = (...parts: Buffer[]) => void socket.write(Buffer.concat(parts))
  /** What it would have sent is sent all the same, and soon it has had enough. */
  const misbehave = (...rest: Buffer[]) => {
    send(bad as Buffer, ...rest)
    setTimeout(() => socket.destroy(), 30)
  }
  socket.on('data', (data: Buffer) => {
    if (moment === 'start-up') {
      const user = /\0user\0([^\0]+)/.exec(data.toString('latin1'))?.[1] ?? ''
      const [at = '', name = ''] = user.split(' ')
      ;[chosen, bad] = [at, HOSTILE_MESSAGES[name] ?? Buffer.alloc(0)]
      if (chosen === 'connect' || chosen === 'start-up') return misbehave(LOGGED_IN)
      moment = 'password'
      return send(authentication(3))
    }
    if (moment === 'password') {
      moment = 'answer'
      if (chosen === 'password') return misbehave(LOGGED_IN)
      if (chosen === 'login') {
        send(LOGGED_IN)
        return void setTimeout(() => misbehave(), 5)
      }
      return send(LOGGED_IN)
    }
    answer(data, send, misbehave, chosen as Moment | 'settings')
  })
}

/** Enough of an answer for any driver: every statement that is described has one column and one row. */
function answer(
  data: Buffer,
  send: (...parts: Buffer[]) => void,
  misbehave: (...rest: Buffer[]) => void,
  chosen: Moment | 'settings',
): void {
  // Our own connection asks for its settings first; that is not the question yet.
  const isQuestion = !data.includes('current_setting') || data.includes('begin')
  const moment = isQuestion ? chosen : undefined
  let parsed = ''
  const before: Buffer[] = []
  const after: Buffer[] = []
  let isDescribed = false
  let isSpoiled = moment === 'answer'
  const say = (...parts: Buffer[]) => void (isSpoiled ? after : before).push(...parts)
  for (const [type, body] of messagesIn(data)) {
    if (type === 'P') {
      parsed = body
      say(message('1'))
    }
    if (type === 'B') say(message('2'))
    if (type === 'C') say(message('3'))
    if (type === 'S') say(READY)
    if (type === 'D') {
      isDescribed = true
      say(columns('shown'))
    }
    if (type === 'Q') say(columns('shown'))
    if (type === 'E' || type === 'Q') {
      isSpoiled ||= moment === 'rows' && (isDescribed || type === 'Q')
      // At this moment nothing is wrong but the settings of the session, after each question.
      if (isDescribed || type === 'Q') say(row(moment === 'settings' ? '2' : '1'))
      isDescribed = false
      say(message('C', cString(tagOf(parsed))))
      parsed = ''
    }
    if (type === 'Q') say(READY)
  }
  send(...before)
  if (isSpoiled) return misbehave(...after)
  if (moment === 'afterward') setTimeout(() => misbehave(), 5)
}

/** Of a Parse, which has an empty name where it begins or ends a transaction. */
const tagOf = (parse: string): string => /^\0(begin|rollback)/.exec(parse)?.[1]?.toUpperCase() ?? 'SELECT 1'

function messagesIn(data: Buffer): [type: string, body: string][] {
  const found: [string, string][] = []
  for (let at = 0; at + 5 <= data.length; at += 1 + data.readUInt32BE(at + 1)) {
    found.push([
      String.fromCharCode(data[at]!),
      data.toString('latin1', at + 5, at + 1 + data.readUInt32BE(at + 1)),
    ])
  }
  return found
}
