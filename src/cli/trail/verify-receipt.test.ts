/** A receipt holds offline, and nothing in it can be changed unseen. */
import { describe, expect, test } from 'vitest'
import type { ReceiptFile, SignedReceipt } from '../../contracts/receipt-format.ts'
import { newTrailKey, trailSigner, type StoredTrailKey } from '../../trust/trail-key.ts'
import { readReceipt, verifyReceipt } from './verify-receipt.ts'

const sealer = {
  seal: (_context: string, text: string) => text,
  open: (_context: string, text: string) => text,
}
const NOW = new Date('2026-11-18T00:00:00Z')
const first = newTrailKey(sealer, NOW, undefined)
const second = newTrailKey(sealer, NOW, first)

function receiptBy(key: StoredTrailKey, changes: Partial<SignedReceipt> = {}): ReceiptFile {
  const receipt: SignedReceipt = {
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
    key: key.id,
    ...changes,
  }
  const signed = JSON.stringify(receipt)
  const signature = trailSigner(sealer, key)!.signReceipt(signed)
  return { signed, signature, keys: [first, second] }
}

test('holds, by either of two keys of which the first vouches for the second', () => {
  for (const key of [first, second]) {
    const report = verifyReceipt(readReceipt(JSON.stringify(receiptBy(key)))!)
    expect(report).toMatchObject({ intact: true, receipt: { id: 'rct_1' } })
    expect(report.keys.map(({ vouched }) => vouched)).toEqual([true, true])
  }
})

describe('does not hold', () => {
  const whole = receiptBy(first)
  test.each<[string, ReceiptFile]>([
    ['with another moment', { ...whole, signed: whole.signed.replace('00:00:01', '00:00:09') }],
    ['with the signature of another', { ...whole, signature: receiptBy(first, { id: 'rct_2' }).signature }],
    [
      'signed as a seal of the trail',
      { ...whole, signature: trailSigner(sealer, first)!.sign(whole.signed) },
    ],
    ['without its key', { ...whole, keys: [second] }],
    ['with a key of another under its id', { ...whole, keys: [{ ...second, id: first.id }] }],
    ['as no JSON', { ...whole, signed: 'nothing' }],
  ])('%s', (_, file) => expect(verifyReceipt(file)).toMatchObject({ intact: false, receipt: null }))
})

test.each(['', '{}', '[]', 'null', '{"header":{}}', '{"signed":"a","signature":null,"keys":[]}'])(
  'an export or anything else is no receipt: %s',
  (text) => expect(readReceipt(text)).toBeUndefined(),
)
