import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readDocuments } from './read-folder.ts'

/** A folder of two documents, the inner one with who sees it. */
function folder(): string {
  const root = mkdtempSync(join(tmpdir(), 'svc-documents-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  mkdirSync(join(root, 'board'))
  writeFileSync(join(root, 'open.md'), 'Open.')
  writeFileSync(join(root, 'board/minutes.md'), 'Minutes.')
  return root
}

test('what says who sees a folder goes with its documents', async () => {
  const root = folder()
  writeFileSync(join(root, 'board/access.yaml'), 'access: [group:board]')
  writeFileSync(join(root, 'board/photo.png'), 'no document')
  const { files, leftOut } = await readDocuments(root)
  expect(files.map(({ path }) => path)).toEqual(['board/access.yaml', 'board/minutes.md', 'open.md'])
  expect(leftOut.map(({ path }) => path)).toEqual(['board/photo.png'])
})

test.each(['access.yml', 'Access.yaml', 'ACCESS.YML'])('%s is told, and not left out', async (name) => {
  const root = folder()
  writeFileSync(join(root, 'board', name), 'access: [group:board]')
  await expect(readDocuments(root)).rejects.toThrow(`"board/${name}" would say who sees its folder`)
})

test('so is a link to one', async () => {
  const root = folder()
  symlinkSync('../open.md', join(root, 'board/access.yaml'))
  await expect(readDocuments(root)).rejects.toThrow('It is a symbolic link.')
})
