import { appendFileSync, cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { readReleasedSkills } from './read-released.ts'

const SKILLS = fileURLToPath(new URL('../../skills', import.meta.url))

test.each(['svc-faq/SKILL.md', 'svc.tar.gz'])('a damaged %s is named with its folder', (file) => {
  const folder = join(mkdtempSync(join(tmpdir(), 'svc-released-')), 'skills')
  onTestFinished(() => rmSync(join(folder, '..'), { recursive: true }))
  cpSync(SKILLS, folder, { recursive: true })
  const read = () => readReleasedSkills(pathToFileURL(`${folder}/`))
  expect(read()?.skills.map(({ id }) => id)).toContain('svc-faq')
  appendFileSync(join(folder, 'released', file), 'x')
  expect(read).toThrow(`skills/released/${file} is not what its manifest says`)
})
