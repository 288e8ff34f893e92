import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { afterEach, expect, inject, test, vi } from 'vitest'
import {
  HOSTILE_MESSAGES,
  HOSTILE_MOMENTS,
  startHostilePostgres,
} from '../../test/support/hostile-postgres.ts'
import { int32, message } from '../wire/protocol-messages.ts'
import { failurePause } from './failure-pause.ts'
import { openPool, type Target } from './open-pool.ts'
import { openSocket } from './open-socket.ts'
import { sourceConnections } from './source-connections.ts'

const endings: (() => unknown)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).toReversed()) await end()
})

const READY = message('Z', Buffer.from('I'))
const SETTINGS_COLUMNS = Buffer.concat([
  message('1'),
  message('2'),
  message('T', Buffer.from('\0\x01s0\0\0\0\0\0\0\0\0\0\0\x19\0\0\0\0\0\0\0\0', 'latin1')),
])
const SETTINGS_SHOWN = Buffer.concat([
  SETTINGS_COLUMNS,
  message('D', Buffer.from('\0\x01\0\0\0\x011', 'latin1')),
  message('C', Buffer.from('SELECT 1\0')),
  READY,
])

/** Answers each piece that a client sends, in order, with the next of these; then it is silent. */
async function fakeServer(...answers: (Buffer | string)[]): Promise<number> {
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    const left = [...answers]
    open.add(socket.on('error', () => {}))
    socket.on('data', () => {
      const next = left.shift()
      if (next !== undefined) socket.write(next)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  endings.push(() => {
    for (const socket of open) socket.destroy()
    return new Promise((closed) => server.close(closed))
  })
  return (server.address() as AddressInfo).port
}

const targetAt = (port: number, more: Partial<Target> = {}): Target => ({
  host: '127.0.0.1',
  port,
  user: 'u',
  password: 'p',
  database: 'd',
  ssl: 'disable',
  ...more,
})

function poolAt(port: number, more: Partial<Target> = {}, graceMs = 20_000) {
  const pool = openPool(targetAt(port, more), {
    statementTimeoutMs: 50,
    graceMs,
    max: 1,
    idleSeconds: 5,
    parameters: {},
    readOnly: true,
  })
  endings.push(() => pool.end())
  return pool
}

const hostile = async (onDial?: (socket: Socket) => boolean | void) => {
  const server = await startHostilePostgres(onDial)
  endings.push(() => server.close())
  return server
}

test.runIf(inject('everyCase'))(
  'whatever a server sends, and whenever, a question is answered or fails, and nothing else happens',
  async () => {
    const server = await hostile()
    const cases = HOSTILE_MOMENTS.flatMap((moment) =>
      Object.keys(HOSTILE_MESSAGES).map((name) => `${moment} ${name}`),
    )
    const codes: string[][] = []
    const queue = cases.entries()
    const askInTurn = async () => {
      for (const [at, user] of queue) {
        const pool = poolAt(server.port, { user })
        const ask = () => pool.query('select $1', ['1']).then(() => 'answered', codeOf)
        codes[at] = [await ask()]
        // The second question finds what came after the first one's answer.
        if (user.startsWith('afterward')) codes[at].push(await ask())
      }
    }
    await Promise.all(Array.from({ length: 128 }, askInTurn))
    const expected = ['answered', 'PROTOCOL_VIOLATION', 'ECONNRESET', '42P01', '57P01', 'XX000']
    expect(cases.filter((_user, at) => !codes[at]!.every((code) => expected.includes(code)))).toEqual([])
    const of = (user: string) => codes[cases.indexOf(user)]
    for (const copy of [
      'copy-in',
      'copy-out',
      'copy-both',
      'columns-endless',
      'row-beyond',
      'length-four-gigabytes',
    ]) {
      expect(of(`rows ${copy}`), copy).toEqual(['PROTOCOL_VIOLATION'])
    }
  },
)

const codeOf = (error: { code?: string }): string => error.code ?? 'without a code'

test('a connection whose settings were changed is not used again, one whose were not is', async () => {
  const server = await hostile()
  for (const [user, dials] of [
    ['settings', 3],
    ['nothing', 1],
  ] as const) {
    const before = server.dials()
    const pool = poolAt(server.port, { user })
    for (let time = 0; time < 3; time += 1) expect(await pool.query('select 1')).toHaveLength(1)
    expect(server.dials() - before, user).toBe(dials)
  }
})

test('the error of a question stays its error when the server hangs up after it', async () => {
  const error = message(
    'E',
    ...['SERROR', 'C57014', 'Mno'].map((field) => Buffer.from(`${field}\0`)),
    Buffer.alloc(1),
  )
  const server = await hostile((socket) => {
    socket.on('data', (data: Buffer) => {
      if (data.readUInt32BE(4) === 196_608) socket.write(Buffer.concat([message('R', int32(0)), READY]))
      else if (data.includes('begin')) socket.end(Buffer.concat([error, READY]))
      else socket.write(SETTINGS_SHOWN)
    })
    return true
  })
  await expect(poolAt(server.port).query('select 1')).rejects.toMatchObject({ code: '57014' })
})

/** A pooler in front of a server need not pass the settings of a start-up on, and a role has defaults of its own. */
test('each question says of itself that it is read-only, for how long it may run, and that nothing stays', async () => {
  const asked: string[] = []
  const server = await hostile((socket) => {
    socket.on('data', (data: Buffer) => {
      if (data.readUInt32BE(4) === 196_608) socket.write(Buffer.concat([message('R', int32(0)), READY]))
      else if (data.includes('select 7')) asked.push(data.toString('latin1'))
      else socket.write(SETTINGS_SHOWN)
    })
    return true
  })
  await poolAt(server.port, {}, 50)
    .query('select 7')
    .catch(() => {})
  expect(asked).toHaveLength(1)
  const places = ['begin read only\0', 'statement_timeout', 'select 7\0', 'rollback\0'].map((text) =>
    asked[0]!.indexOf(text),
  )
  expect(places).not.toContain(-1)
  expect(places).toEqual(places.toSorted((a, b) => a - b))
})

test('an answer of more rows than any question has is hung up on', async () => {
  const row = message('D', Buffer.from('\0\x01\xff\xff\xff\xff', 'latin1'))
  const many = Buffer.concat(Array.from({ length: 20_000 }, () => row))
  const flood = await hostile((socket) => {
    socket.on('data', (data: Buffer) => {
      const isStartup = data.readUInt32BE(4) === 196_608
      socket.write(Buffer.concat(isStartup ? [message('R', int32(0)), READY] : [SETTINGS_COLUMNS, many]))
    })
    return true
  })
  await expect(poolAt(flood.port).query('select 1')).rejects.toMatchObject({ code: 'PROTOCOL_VIOLATION' })
})

test.each([
  ['a notice', [message('N')]],
  ['a setting', [message('S')]],
  ['a hundred thousand requests', Array.from({ length: 100_000 }, () => message('R', int32(3)))],
])('a server that goes on while a password is hashed, with %s, is hung up on', async (_what, more) => {
  let pieces = 0
  const server = await hostile((socket) => {
    socket.on('data', (data: Buffer) => {
      pieces += 1
      if (pieces === 1) return void socket.write(message('R', int32(10), Buffer.from('SCRAM-SHA-256\0\0')))
      const nonce = /,r=(.+)$/.exec(data.toString('latin1'))?.[1]
      const challenge = message('R', int32(11), Buffer.from(`r=${nonce}x,s=c2FsdA==,i=100000`))
      if (pieces === 2) socket.write(Buffer.concat([challenge, ...more]))
    })
    return true
  })
  await expect(poolAt(server.port).query('select 1')).rejects.toMatchObject({ code: 'PROTOCOL_VIOLATION' })
  // At once: the challenge is not answered.
  expect(pieces).toBe(2)
})

test('a server that goes on saying something while it is asked nothing is hung up on', async () => {
  let isClosed = false
  const server = await hostile((socket) => {
    socket.on('close', () => (isClosed = true))
    socket.on('data', (data: Buffer) => {
      const count = [50, 200].find((n) => data.includes(`select ${n}`)) ?? 0
      const notices = Array.from({ length: count }, () => message('N'))
      if (count > 0) setTimeout(() => socket.write(Buffer.concat(notices)), 5)
    })
  })
  const pool = poolAt(server.port, { user: 'nothing' })
  for (const question of ['select 50', 'select 200']) expect(await pool.query(question)).toHaveLength(1)
  expect(server.dials()).toBe(1)
  await expect.poll(() => isClosed).toBe(true)
})

test('a server that accepts and closes is dialed a few times, and then left alone', async () => {
  const server = await hostile((socket) => {
    socket.destroy()
    return true
  })
  const pool = poolAt(server.port)
  for (let time = 0; time < 50; time += 1) {
    await expect(pool.query('select 1')).rejects.toMatchObject({ code: 'ECONNRESET' })
  }
  expect(server.dials()).toBe(3)
})

test('one that has answered since is dialed again after each failure', async () => {
  let isUp = true
  const server = await hostile((socket) => {
    if (!isUp) socket.destroy()
    return !isUp
  })
  const pool = poolAt(server.port, { user: 'answer copy-in' })
  for (let time = 0; time < 6; time += 1) {
    isUp = time % 2 === 0
    await expect(pool.query('select 1')).rejects.toMatchObject({
      code: isUp ? 'PROTOCOL_VIOLATION' : 'ECONNRESET',
    })
  }
  expect(server.dials()).toBe(6)
})

/** Logs everybody in, never answers a question, and notes who tells it to stop. */
async function silentServer() {
  const cancelled: Buffer[] = []
  const server = await hostile((socket) => {
    let isSilent = false
    socket.on('data', (data: Buffer) => {
      if (data.readUInt32BE(4) === 80_877_102) cancelled.push(data)
      else if (!isSilent && data.readUInt32BE(4) === 196_608) {
        socket.write(Buffer.concat([message('R', int32(0)), message('K', int32(7), int32(8)), READY]))
      } else if (data.includes('current_setting') && !data.includes('begin')) socket.write(SETTINGS_SHOWN)
      else isSilent = true
    })
    return true
  })
  return { ...server, cancelled }
}

test('a pool that is aborted tells the server to stop what is under way', async () => {
  const { port, cancelled } = await silentServer()
  const pool = poolAt(port)
  setTimeout(() => void pool.abort(), 100)
  await expect(pool.query('select 1')).rejects.toMatchObject({ code: 'CONNECTION_ENDED' })
  await expect.poll(() => cancelled.length).toBe(1)
  expect(cancelled[0]!.subarray(8)).toEqual(Buffer.concat([int32(7), int32(8)]))
})

test('a server that never answers is an error in time; it is told to stop, and keeps no place in the pool', async () => {
  const { port, cancelled } = await silentServer()
  const pool = poolAt(port, {}, 50)
  for (let time = 0; time < 3; time += 1) {
    await expect(pool.query('select 1')).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  }
  await expect.poll(() => cancelled.length).toBe(3)
  expect(cancelled[0]!.subarray(8)).toEqual(Buffer.concat([int32(7), int32(8)]))
})

const failureOf = async (target: Target): Promise<unknown> => {
  const error = await openSocket(target, 100).then(undefined, (thrown: unknown) => thrown)
  return (error as { code?: string }).code
}

test('names that nobody answers for cost no more than the time there is', async () => {
  const addresses = () => new Promise<string[]>(() => {})
  expect(await failureOf(targetAt(1, { addresses }))).toBe('ETIMEDOUT')
})

test.each([
  ['nothing', [], 'ETIMEDOUT'],
  ['that it has none', ['N'], 'TLS_UNAVAILABLE'],
  ['an error', ['E\0\0\0\x05\0'], 'TLS_UNAVAILABLE'],
  ['yes, and more that is not yet in TLS', ['Sinjected'], 'TLS_UNAVAILABLE'],
])('a server that is asked for TLS and says %s is not spoken to', async (_what, answers, code) => {
  expect(await failureOf(targetAt(await fakeServer(...answers), { ssl: 'require' }))).toBe(code)
})

test('one that fails to look up an address fails with that error', async () => {
  const addresses = () => Promise.reject(Object.assign(new Error('no'), { code: 'ESERVFAIL' }))
  expect(await failureOf(targetAt(1, { addresses }))).toBe('ESERVFAIL')
})

test('a server is left alone after three failures in a row, whatever failed before it answered', () => {
  const pause = failurePause()
  const fail = (times: number) => {
    for (let nth = 0; nth < times; nth++) pause.failed(new Error('down'))
  }
  fail(2)
  pause.succeeded()
  fail(2)
  expect(() => pause.check()).not.toThrow()
  fail(1)
  expect(() => pause.check()).toThrow('down')
})

test('an address that is not allowed was never dialed, and is no failure of its server', async () => {
  const pool = poolAt(1, { addresses: async () => [] })
  for (let nth = 0; nth < 4; nth++) {
    await expect(pool.query('select 1')).rejects.toMatchObject({ code: 'ADDRESS_NOT_ALLOWED' })
  }
  let asked = 0
  const counted = poolAt(1, { addresses: async () => (asked++, []) })
  for (let nth = 0; nth < 5; nth++) await counted.query('select 1').catch(() => {})
  expect(asked).toBe(5)
})

test('of several questions that failed together the first one opens another pool', async () => {
  const closed = createServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const { port } = closed.address() as AddressInfo
  await new Promise((ended) => closed.close(ended))
  let logins = 0
  const sources = sourceConnections({} as never)
  endings.push(() => sources.close())
  const queries = sources.open('key', 'embedded', 'org', async () => {
    logins += 1
    return { ...targetAt(port), ssl: 'disable' }
  })
  const both = await Promise.allSettled([queries.query('select 1'), queries.query('select 2')])
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(logins).toBe(2)
})

test('a server that goes on failing is left alone for longer each time, for a minute at most', () => {
  const clock = vi.spyOn(performance, 'now')
  try {
    const pause = failurePause()
    let now = 0
    clock.mockImplementation(() => now)
    const isLeftAlone = () => {
      try {
        pause.check()
        return false
      } catch {
        return true
      }
    }
    const pauses = Array.from({ length: 8 }, () => {
      pause.failed(new Error('away'))
      const began = now
      while (isLeftAlone()) now += 1_000
      return (now - began) / 1_000
    })
    expect(pauses).toEqual([0, 0, 5, 10, 20, 40, 60, 60])
  } finally {
    clock.mockRestore()
  }
})
