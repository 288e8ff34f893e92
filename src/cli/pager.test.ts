import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { showInPager } from './pager.ts'

/** Where every system has a shell and cat. */
const PATH = '/usr/local/bin:/usr/bin:/bin'

test('the text reaches the pager, and the token does not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-pager-'))
  try {
    const file = join(folder, 'seen')
    const PAGER = `sh -c 'cat > ${file}; echo "[$SVC_API_KEY][$LESS]" >> ${file}'`
    expect(await showInPager('a\nb\n', { PATH, PAGER, SVC_API_KEY: 'svc_secret' })).toBe(true)
    expect(readFileSync(file, 'utf8')).toBe('a\nb\n[][FRX]\n')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test.each(['', 'cat', 'no-such-pager-anywhere 2>/dev/null'])(
  'PAGER=%j leaves it to the caller',
  async (PAGER) => {
    expect(await showInPager('text', { PATH, PAGER })).toBe(false)
  },
)

test('one that is quit in the middle of a long text is no error', async () => {
  expect(await showInPager('x'.repeat(5_000_000), { PATH, PAGER: 'true' })).toBe(true)
})
