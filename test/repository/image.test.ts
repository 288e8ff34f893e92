/** The Containerfile and the compose file, as far as reading tells. test/long/image.test.ts performs and starts them. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { SECRET_KEYS, SETTINGS } from '../../src/boot/config.ts'
import { sentToBuild } from '../../scripts/sent-to-build.ts'
import { instructionsOf } from '../support/containerfile.ts'
import { renderChart } from '../support/chart/render-chart.ts'
import { SMALLEST } from '../support/chart/values.ts'
import { readText, ROOT } from './source-tree.ts'

const instructions = instructionsOf(readText('Containerfile'))
const rests = (name: string) =>
  instructions.filter(({ instruction }) => instruction === name).map(({ rest }) => rest)
const lastStage = instructions.slice(instructions.findLastIndex(({ instruction }) => instruction === 'FROM'))

type Compose = {
  services: {
    svc: {
      image: string
      environment: Record<string, string>
      healthcheck: { test: string[] }
      ports: string[]
    }
  }
}
const { svc } = (parse(readText('compose.yaml')) as Compose).services

test('the image is built from the lock file, without what only developers need', () => {
  expect(rests('RUN')[0]).toMatch(/^npm ci --omit=dev --ignore-scripts /)
  expect(rests('COPY')[0]).toBe('package.json package-lock.json ./')
})

test('its last stage runs nothing, so that no architecture is emulated', () => {
  expect(lastStage.filter(({ instruction }) => instruction === 'RUN')).toEqual([])
})

test('what it copies exists and reaches the build; tests do not', () => {
  const isSent = sentToBuild(readText('.dockerignore'))
  const sources = rests('COPY')
    .filter((rest) => !rest.includes('--from='))
    .flatMap((rest) => rest.split(' ').slice(0, -1))
  expect(
    sources.filter((path) => !isSent(path) || !statSync(join(ROOT, path), { throwIfNoEntry: false })),
  ).toEqual([])
  expect(isSent('src/boot/config.ts')).toBe(true)
  expect(
    ['src/boot/config.test.ts', 'node_modules/hono/package.json', '.env', '.git', '.svc/db'].filter(isSent),
  ).toEqual([])
})

test('every package that runs can be had for both architectures', () => {
  type Package = { dev?: boolean; os?: string[]; cpu?: string[]; libc?: string[] }
  const { packages } = JSON.parse(readText('package-lock.json')) as { packages: Record<string, Package> }
  const native = Object.entries(packages).filter(
    ([, { dev, os, cpu, libc = ['glibc'] }]) =>
      !dev && cpu && os?.includes('linux') && libc.includes('glibc'),
  )
  const forOne = (architecture: string) =>
    native
      .filter(([, { cpu }]) => cpu?.includes(architecture))
      .map(([path]) => path.replace(architecture, '<cpu>'))
      .toSorted()
  expect(forOne('x64')).toContain('node_modules/node-linux-<cpu>')
  expect(forOne('x64')).toEqual(forOne('arm64'))
})

test('image, chart and compose file agree on user, port, health and version', () => {
  const [user = ''] = rests('USER')
  expect(user).toMatch(/^[1-9]\d*:[1-9]\d*$/)
  const deployment = renderChart(SMALLEST).files.get('svc/charts/console/templates/console.yaml')
  expect(deployment).toContain(`runAsUser: ${user.split(':')[0]}\n`)
  expect(rests('ENV')).toEqual(
    expect.arrayContaining(['HOST=0.0.0.0', 'PORT=4000', 'SVC_DATA_DIR=/var/lib/svc']),
  )
  expect(rests('EXPOSE')).toEqual(['4000'])
  expect(svc.ports).toEqual(['127.0.0.1:4000:4000'])
  expect(svc.healthcheck.test.slice(1)).toEqual(JSON.parse(rests('HEALTHCHECK')[0]!.replace(/^.* CMD /, '')))
  const { version } = JSON.parse(readText('package.json')) as { version: string }
  expect(svc.image).toBe(`svc:${version}`)
})

test('the compose file gives every secret, and no setting that does not exist', () => {
  const names = Object.keys(svc.environment)
  expect(names).toEqual(expect.arrayContaining(['DATABASE_URL', ...SECRET_KEYS]))
  expect(names.filter((name) => !(name in SETTINGS))).toEqual([])
})
