import { createHash, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TrailKey } from '../../contracts/trail-format.ts'
import type { CommandContext } from '../command-context.ts'
import { verifyTrail } from './audit.ts'

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

type Made = { readonly head?: number; readonly ats?: readonly string[] }

/** A seal of one row for each key that signs. */
function makeTrail(keys: readonly Key[], by: readonly Key[], { head = by.length, ats = [] }: Made = {}) {
  let previous: string | null = null
  const seals = by.map((key, n) => {
    const is = { kind: 'audit', id: `aud_${n}`, at: ats[n] ?? '2026-11-01T12:00:00.000Z' }
    const leaf = digest(Buffer.of(0), JSON.stringify(is))
    const text: string = JSON.stringify({
      trail: 1,
      org: 'org_1',
      number: n + 1,
      epoch: '0-0',
      first: n + 1,
      rows: 1,
      activity: 0,
      root: leaf.toString('hex'),
      previous,
      sealed_at: '2026-11-01T12:01:00.000Z',
      key: key.id,
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
    org: 'org_1',
    exported_at: '2026-11-01T13:00:00.000Z',
    keys: keys.map(({ secret: _, ...key }) => key),
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

async function verified(
  { lines }: { readonly lines: readonly object[] },
  options: Record<string, string> = {},
) {
  const file = join(folder, 'trail.ndjson')
  await writeFile(file, ndjson(lines))
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
