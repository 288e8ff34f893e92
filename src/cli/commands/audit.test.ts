import { createHash, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TrailKey } from '../../contracts/trail-format.ts'
import { newTrailKey, trailSigner } from '../../trust/trail-key.ts'
import type { CommandContext } from '../command-context.ts'
import { exportTrail, verifyTrail } from './audit.ts'

type Key = TrailKey & { readonly secret: KeyObject }

const digest = (...parts: (string | Buffer)[]): Buffer => {
  const made = createHash('sha256')
  for (const part of parts) made.update(part)
  return made.digest()
}
const signed = (secret: KeyObject, text: string) =>
  sign(null, Buffer.from(text), secret).toString('base64url')

/** As the documentation has it. `as`: under the id of another. */
function makeKey(by?: Key | 'itself', as?: string): Key {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const public_key = publicKey.export({ format: 'jwk' }).x!
  const key = {
    id: as ?? digest(public_key).toString('hex').slice(0, 16),
    public_key,
    created_at: '2026-11-01T00:00:00.000Z',
  }
  const endorser = by === 'itself' ? { id: key.id, secret: privateKey } : by
  return {
    ...key,
    endorsed_by: endorser?.id ?? null,
    endorsement: endorser ? signed(endorser.secret, `svc trail key\n${JSON.stringify(key)}`) : null,
    secret: privateKey,
  }
}

function shown(made: Key): TrailKey {
  const { secret: _, ...rest } = made
  return rest
}

type Made = {
  readonly org?: string
  readonly head?: number
  readonly ats?: readonly string[]
  readonly sealedAt?: string
  /** The number of the seal before which the database went back. */
  readonly breakAt?: number
}

/** A seal of one row for each key that signs. */
function makeTrail(
  keys: readonly Key[],
  by: readonly Key[],
  {
    org = 'org_1',
    head = by.length,
    ats = [],
    sealedAt = '2026-11-01T12:01:00.000Z',
    breakAt = Infinity,
  }: Made = {},
) {
  let previous: string | null = null
  const seals = by.map((key, n) => {
    const is = { kind: 'audit', id: `aud_${n}`, at: ats[n] ?? '2026-11-01T12:00:00.000Z' }
    const leaf = digest(Buffer.of(0), JSON.stringify(is))
    const text: string = JSON.stringify({
      trail: 1,
      org,
      number: n + 1,
      epoch: n + 1 < breakAt ? '0-0' : '1-0',
      first: n + 1,
      rows: 1,
      activity: 0,
      root: leaf.toString('hex'),
      previous,
      sealed_at: sealedAt,
      key: key.id,
      ...(n + 1 === breakAt && { break: { after: '0-0' } }),
    })
    previous = digest(text).toString('hex')
    return {
      seal: { signed: text, signature: signed(key.secret, `svc trail seal\n${text}`) },
      lines: [
        {
          seal: {
            signed: text,
            signature: signed(key.secret, `svc trail seal\n${text}`),
            leaves: leaf.toString('base64'),
          },
        },
        { row: n + 1, is },
      ],
    }
  })
  const header = {
    trail_export: 1,
    org,
    exported_at: '2026-11-01T13:00:00.000Z',
    keys: keys.map(shown),
    head: { number: head, epoch: '0-0', row: head },
  }
  const end = { seals: seals.length, unsealed: 0 }
  return {
    lines: [{ header }, ...seals.flatMap(({ lines }) => lines), { end }],
    roots: seals.map(({ seal }) => seal),
  }
}

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'trail-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const ndjson = (lines: readonly object[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('')

const verified = ({ lines }: { readonly lines: readonly object[] }, options: Record<string, string> = {}) =>
  verifiedText(ndjson(lines), options)

async function verifiedText(written: string, options: Record<string, string> = {}) {
  const file = join(folder, 'trail.ndjson')
  await writeFile(file, written)
  const printed: string[] = []
  const ctx = {
    print: (_data: unknown, { text }: { text: string }) => printed.push(text),
    info: (line: string) => printed.push(line),
  } as unknown as CommandContext
  const code = await verifyTrail(ctx, { args: { file }, options })
  return { code, text: printed.join('') }
}

const key = makeKey()
const next = makeKey(key)

test('a trail of two keys, the second signed by the first, is intact', async () => {
  const { code, text } = await verified(makeTrail([key, next], [key, next]), { key: key.id })
  expect(text).toContain('Intact: 2 rows')
  expect(code).toBe(0)
})

const other = makeKey()
const foreignSeal = makeTrail([key], [key, key], { org: 'org_2' }).lines[3]!
const posing = makeKey(undefined, key.id)
const itself = makeKey('itself')
const third = makeKey(key)

test.each([
  ['a key under the id of another', makeTrail([posing], [posing]), 'is not the key that its id stands for'],
  [
    'a key under the id of another behind it',
    makeTrail([key, posing], [posing]),
    'is not the key that its id stands for',
  ],
  ['a key that signs itself', makeTrail([key, itself], [itself]), 'a key that nobody vouches for'],
  ['a key that nobody signs', makeTrail([key, other], [other]), 'a key that nobody vouches for'],
  [
    'a key that one before the last has signed',
    makeTrail([key, next, third], [third]),
    'a key that nobody vouches for',
  ],
  ['the last seals left out', makeTrail([key], [key], { head: 2 }), 'ends with seal 2, which is not here'],
])('%s is no intact trail', async (_what, trail, says) => {
  const { code, text } = await verified(trail, { key: key.id })
  expect(text).toContain(says)
  expect(text).not.toContain('Intact')
  expect(code).toBe(11)
})

test.each([
  [
    'a name twice in a row',
    '"is":{"kind":"audit"',
    '"is":{"kind":"activity","kind":"audit"',
    'row 1 was changed',
  ],
  ['a second row before it', '"is":{', '"is":{"id":"aud_9"},"is":{', 'row 1 was changed'],
  ['something behind the row', '"}}\n{"end"', '"},"note":1}\n{"end"', 'row 1 was changed'],
  ['a letter written differently', '"id":"aud_0"', '"id":"\\u0061ud_0"', 'row 1 was changed'],
  ['another number before its own', '{"row":1,', '{"row":7,"row":1,', 'row 1 was changed'],
  ['a seal before the seal', '{"seal":{', '{"seal":{"signed":"{}"},"seal":{', 'line 2 cannot be read'],
  ['a name twice in a seal', '{"seal":{', '{"seal":{"signed":"{}",', 'line 2 cannot be read'],
  ['another head before the head', '"head":{', '"head":null,"head":{', 'line 1 cannot be read'],
  [
    'a row that is not sealed',
    '{"end"',
    '{"unsealed":{}}\n{"end"',
    'ends with 0 rows that are not sealed, and 1',
  ],
  ['one of these less', '"unsealed":0', '"unsealed":1', 'ends with 1 rows that are not sealed, and 0'],
])('%s, which another program would read, is found', async (_what, written, instead, says) => {
  const whole = ndjson(makeTrail([key], [key]).lines)
  expect(whole).toContain(written)
  const { code, text } = await verifiedText(whole.replace(written, () => instead))
  expect(text).toContain(says)
  expect(text).not.toContain('Intact')
  expect(code).toBe(11)
})

test('more rows that are not sealed than the export has are told', async () => {
  const { lines } = makeTrail([key], [key])
  const end = [{ unsealed: {} }, { end: { seals: 1, unsealed: 1, more: true } }]
  const { text } = await verified({ lines: [...lines.slice(0, -1), ...end] })
  expect(text).toContain('Not sealed yet, so not proven: 1 rows, and more that are not in this file.')
})

test('line breaks of Windows change nothing', async () => {
  const { text } = await verifiedText(ndjson(makeTrail([key], [key]).lines).replaceAll('\n', '\r\n'))
  expect(text).toContain('Intact: 1 rows')
})

async function keep(name: string, roots: readonly object[]): Promise<string> {
  const path = join(folder, name)
  await mkdir(path)
  await writeFile(join(path, 'trail-2026-11.ndjson'), ndjson(roots))
  return path
}

test('roots that were kept name what was signed anew, dropped, or is another', async () => {
  const trail = makeTrail([key], [key, key])
  const foreign = makeTrail([key], [key], { org: 'org_2' })
  const path = await keep('same', [...trail.roots, ...trail.roots, ...foreign.roots])
  const same = await verified(trail, { roots: path })
  expect(same.text).toContain('Intact: 2 rows')
  expect(same.text).toContain('Compared with the roots that you kept: 2 of this organization.')
  expect(same.code).toBe(0)

  const file = await verified(makeTrail([key], [key]), { roots: join(path, 'trail-2026-11.ndjson') })
  expect(file.text).toContain('Root of seal 2 (rows 2 to 2,')
  expect(file.text).toContain('is not in the export')
  expect(file.text).not.toContain('Intact')
  expect(file.code).toBe(11)

  // The same keys, another past: the server has signed it anew, and its new roots lie beside the old ones.
  const anew = makeTrail([key], [key, key], { ats: ['2026-10-01T00:00:00.000Z'] })
  const bent = await verified(anew, { roots: await keep('both', [...trail.roots, ...anew.roots]) })
  expect(bent.text).toMatch(/Root of seal 1 .*is another one in the export/)
  expect(bent.text).not.toContain('Intact')
  expect(bent.code).toBe(11)

  const none = await verified(trail, { roots: await keep('none', foreign.roots) })
  expect(none.code).toBe(11)
  await expect(verified(trail, { roots: join(folder, 'nowhere') })).rejects.toThrow('ENOENT')
})

test('roots of what is lost behind a signed break, and of after the export, are told and are no failure', async () => {
  const trail = makeTrail([key], [key, key, key], { breakAt: 2 })
  const before = makeTrail([key], [key, key])
  const later = makeTrail([key], [key, key, key, key], { breakAt: 2, sealedAt: '2026-11-02T00:00:00.000Z' })
  const { code, text } = await verified(trail, {
    roots: await keep('broken', [...trail.roots, before.roots[1]!, later.roots[3]!, { signed: '{"cut' }]),
  })
  expect(text).toContain('Intact')
  expect(text).toContain('Lost where the database went back: 1 roots.')
  expect(text).toContain('Younger than the export: 1 roots.')
  expect(text).toContain('Lines that are no root: 1.')
  expect(code).toBe(0)
})

test('rows that were sealed late are counted, and the first is named', async () => {
  const ats = ['2026-10-31T12:02:00.000Z', '2026-10-31T12:00:59.000Z', '2026-10-01T00:00:00.000Z']
  const { code, text } = await verified(makeTrail([key], [key, key, key], { ats }))
  expect(text).toContain('Sealed late: 2 rows, more than a day after their time. The first is row 2.')
  expect(code).toBe(0)
  expect((await verified(makeTrail([key], [key]))).text).not.toContain('Sealed late')
})

describe('a receipt', () => {
  const stored = newTrailKey(
    { seal: (_context: string, text: string) => text, open: (_context: string, text: string) => text },
    new Date('2026-11-18T00:00:00Z'),
    undefined,
  )
  const signer = trailSigner(
    { seal: (_context: string, text: string) => text, open: (_context: string, text: string) => text },
    stored,
  )!
  const receiptOf = (changes: object = {}) => {
    const signed = JSON.stringify({
      receipt: 1,
      id: 'rct_1',
      org: 'org_1',
      of: { kind: 'agent', id: 'grt_1', name: 'Assistant' },
      by: { id: 'usr_1', name: 'Ada' },
      began_at: '2026-11-18T00:00:00.000Z',
      final_at: '2026-11-18T00:00:01.000Z',
      ended: { grant: 1 },
      cut: { calls: 1, long_polls: 0, streams: 0, questions: 0 },
      processes: 2,
      remains: [],
      key: stored.id,
      ...changes,
    })
    return { signed, signature: signer.signReceipt(signed), keys: [stored] }
  }
  const whole = receiptOf()

  test.each<[string, object, Record<string, string>, string, number]>([
    ['that is intact', whole, { key: stored.id }, 'access of the agent Assistant ended. No process wrote', 0],
    [
      'of a rehearsal',
      receiptOf({ rehearsal: true }),
      {},
      'a rehearsal for the agent Assistant. Nothing was',
      0,
    ],
    ['that was changed', { ...whole, signed: whole.signed.replace('"cut"', '"cuT"') }, {}, 'Not intact:', 11],
    ['of another key', whole, { key: '0'.repeat(16) }, 'but with another key than yours', 11],
  ])('%s says so, also by its exit code', async (_what, file, options, says, exit) => {
    const { code, text } = await verifiedText(JSON.stringify(file), options)
    expect([text, code]).toEqual([expect.stringContaining(says), exit])
  })
})

/** Whoever has the export moves, repeats or drops lines of it. */
test.each<[string, (lines: object[]) => object[], string]>([
  ['a row twice', (lines) => lines.toSpliced(3, 0, lines[2]!), 'row 1 is here twice'],
  ['a row dropped', (lines) => lines.toSpliced(2, 1), 'row 1'],
  ['a seal once more', (lines) => lines.toSpliced(5, 0, lines[1]!, lines[2]!), 'seal 1 stands behind seal 2'],
  ['lines behind the end', (lines) => [...lines, lines[2]!], 'there are lines behind the end'],
  ['a file that was cut', (lines) => lines.slice(0, -1), 'the file is cut after line 5'],
  [
    'a seal of another organization',
    (lines) => lines.with(3, foreignSeal),
    'belongs to another organization',
  ],
])('%s: found, and where', async (_what, change, says) => {
  const { code, text } = await verified({ lines: change(makeTrail([key], [key, key]).lines) })
  expect(text).toContain(says)
  expect(text).not.toContain('Intact')
  expect(code).toBe(11)
})

test('an export into a folder that is not there names it, and asks the server for nothing', async () => {
  const file = join(folder, 'nowhere', 'trail.ndjson')
  const ctx = {
    callOperation: () => expect.unreachable('the server was asked'),
  } as unknown as CommandContext
  await expect(exportTrail(ctx, { args: { file }, rest: [], options: {} })).rejects.toMatchObject({
    code: 'INVALID_REQUEST',
    message: `There is no folder ${join(folder, 'nowhere')}`,
  })
})

test('one over a folder says that it cannot be written, and leaves nothing beside it', async () => {
  const file = join(folder, 'taken')
  await mkdir(file)
  const ctx = {
    callOperation: async () => ({ body: Buffer.from('{}\n') }),
  } as unknown as CommandContext
  await expect(exportTrail(ctx, { args: { file }, rest: [], options: {} })).rejects.toMatchObject({
    code: 'INVALID_REQUEST',
    message: `${file} cannot be written (EISDIR)`,
  })
  await expect(readdir(folder)).resolves.not.toContain('taken.partial')
})

test('one onto a disk that is full says so, asks for no further page, and leaves nothing behind', async () => {
  const file = join(folder, 'large.ndjson')
  await symlink('/dev/full', `${file}.partial`)
  let pages = 0
  const ctx = {
    callOperation: async () => ({ body: Buffer.from(`{"row":${++pages}}\n{"next":${pages}}\n`) }),
  } as unknown as CommandContext
  await expect(exportTrail(ctx, { args: { file }, rest: [], options: {} })).rejects.toMatchObject({
    code: 'INVALID_REQUEST',
    message: `${file} cannot be written (ENOSPC)`,
    hint: expect.stringContaining('another disk') as string,
  })
  expect(pages).toBe(1)
  const left = await readdir(folder)
  expect(left.filter((name) => name.startsWith('large'))).toEqual([])
})
