import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { dataFolderError, makeDataFolder } from './data-folder.ts'
import { lockDataFolder } from './data-folder-lock.ts'

const home = mkdtempSync(join(tmpdir(), 'svc-folder-'))
afterAll(() => rmSync(home, { recursive: true }))

const error = (code: string, message = code) => Object.assign(new Error(message), { code })
const WAY_OUT = 'or choose another folder with SVC_DATA_DIR.'

test('a file in its place is told as one, by the lock too', () => {
  const file = join(home, 'file')
  writeFileSync(file, '')
  const sentence = `The data folder ${file} is a file. Move it away, ${WAY_OUT}`
  expect(() => makeDataFolder(file)).toThrow(sentence)
  expect(() => lockDataFolder(file)).toThrow(sentence)
  expect(() => makeDataFolder(join(file, 'below'))).toThrow('a part of its path is a file')
})

test('a file system that takes no folders ends, and says so', ({ skip }) => {
  skip(process.platform !== 'linux', 'there is no /proc here')
  for (const folder of ['/proc/svc', '/proc/svc/data']) {
    expect(() => makeDataFolder(folder)).toThrow(
      `The data folder ${folder} cannot be made: its file system takes no folders. Choose another one with SVC_DATA_DIR.`,
    )
  }
})

test('parents are made, each for its owner alone', () => {
  const folder = join(home, 'a', 'b', 'c')
  makeDataFolder(folder)
  makeDataFolder(folder)
  expect([folder, join(home, 'a')].map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o700])
})

test('who cannot make it is told so, and not to change the owner of what is not there', () => {
  const told = (folder: string) => dataFolderError(folder, error('EACCES'))?.message
  const user = process.getuid ? `this user (uid ${process.getuid()})` : 'this user'
  expect(told(home)).toBe(
    `The data folder ${home} cannot be written by ${user}. Change its owner, ${WAY_OUT}`,
  )
  const missing = join(home, 'missing')
  expect(told(missing)).toBe(
    `The data folder ${missing} cannot be made by ${user}. Make it and give it to this user, ${WAY_OUT}`,
  )
})

test('a lock that cannot be opened is told with the folder', () => {
  const folder = join(home, 'locked')
  mkdirSync(join(folder, 'lock'), { recursive: true })
  expect(() => lockDataFolder(folder)).toThrow(`The data folder ${folder} cannot be locked (`)
})

test('a link that leads nowhere', () => {
  const link = join(home, 'link')
  symlinkSync(join(home, 'missing', 'further'), link)
  expect(() => makeDataFolder(link)).toThrow('a link in its path leads nowhere')
})

test.each([
  ['EACCES', 'cannot be made by this user'],
  ['EPERM', 'cannot be made by this user'],
  ['EROFS', 'is on a read-only file system'],
  ['ENOSPC', 'is full. Free some space'],
  ['EDQUOT', 'is full. Free some space'],
])('%s: %s', (code, says) => {
  const told = dataFolderError('/data', error(code))
  expect(told?.message).toMatch(new RegExp(`/data.* ${says}.*SVC_DATA_DIR\\.$`))
})

test.each([
  ['Postgres', error('53100', 'could not extend file')],
  ['SQLite', Object.assign(new Error('database or disk is full'), { errcode: 13 })],
  ['an engine that could not be opened', new Error('could not be opened', { cause: error('ENOSPC') })],
  ['a text alone', new Error('write failed: No space left on device')],
])('a full disk as %s tells it', (_who, problem) => {
  expect(dataFolderError('/data', problem)?.message).toBe(
    `The disk of the data folder /data is full. Free some space, ${WAY_OUT}`,
  )
})

test('any other error is nothing of the folder', () => {
  expect(dataFolderError('/data', error('ECONNREFUSED'))).toBeUndefined()
  expect(dataFolderError('/data', 'thrown as it was')).toBeUndefined()
})
