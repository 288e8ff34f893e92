/** What the forge reads: owners of paths that exist, forms that it can read, workflows that only call scripts of ours. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { filesUnder, readText, ROOT } from './source-tree.ts'

test('every path of CODEOWNERS exists, and has an owner', () => {
  const rules = readText('.github/CODEOWNERS')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(/\s+/))
  for (const [path = '', ...owners] of rules) {
    expect(owners.length, path).toBeGreaterThan(0)
    const found = path === '*' || path.endsWith('*') || statSync(join(ROOT, path), { throwIfNoEntry: false })
    expect(found, path).toBeTruthy()
  }
})

test('issue forms have a name, a description and questions with ids of their own', () => {
  const forms = filesUnder('.github/ISSUE_TEMPLATE').filter((path) => !path.endsWith('config.yml'))
  expect(forms.length).toBeGreaterThan(1)
  for (const path of forms) {
    const form = parse(readText(path)) as {
      name: string
      description: string
      body: { type: string; id?: string }[]
    }
    expect([typeof form.name, typeof form.description], path).toEqual(['string', 'string'])
    const ids = form.body.filter(({ type }) => type !== 'markdown').map(({ id }) => id)
    expect(new Set(ids).size, path).toBe(ids.length)
    expect(ids).not.toContain(undefined)
  }
})

test('workflows install and call one script', () => {
  type Workflow = { permissions: object; jobs: Record<string, { steps: { run?: string }[] }> }
  const lines = ['check', 'release'].map((name) => {
    const { permissions, jobs } = parse(readText(`.github/workflows/${name}.yml`)) as Workflow
    expect(permissions, name).toEqual({ contents: 'read' })
    return Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []))
  })
  expect(lines).toEqual([
    ['bash .ci/run'],
    ['npm ci --no-audit --no-fund', expect.stringMatching(/^scripts\/release \$\{\{ .*'--publish'.* \}\}$/)],
  ])
})
