import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { writeTar } from '../../contracts/write-tar.ts'
import { createSourceThread } from './index.ts'

test('the thread reads archives, compares and edits, and a new one comes after it was ended', async () => {
  const thread = createSourceThread()
  onTestFinished(() => thread.close())
  const archive = gzipSync(writeTar([{ path: 'a', content: Buffer.from('x\n'), isExecutable: true }]))
  const read = async () =>
    (await thread.unpack('org', archive)).files.map(({ path, content }) => [path, String(content)])
  expect(await read()).toEqual([['a', 'x\n']])
  await thread.close()
  expect(await read()).toEqual([['a', 'x\n']])
  const side = (text: string) => ({ text, isExecutable: false })
  const compared = await thread.compare('org', { path: 'a', old: side('1\n'), now: side('2\n') }, () => false)
  expect([compared?.addedLines, compared?.removedLines]).toEqual([1, 1])
  const edits = [{ path: 'a', old_text: '1', new_text: '2' }]
  const edited = await thread.edit('org', { edits, texts: new Map([['a', '1\n']]) })
  expect(edited).toEqual({ files: new Map([['a', '2\n']]), problems: [] })
})
