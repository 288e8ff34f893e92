/**
 * Performs a Containerfile in folders: copies and runs what it says, with programs of this machine in place of those of
 * the base images. Knows the instructions that ours uses, and refuses others.
 */
import { execFile } from 'node:child_process'
import { chown, cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { globSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { sentToBuild } from '../../scripts/sent-to-build.ts'

type Stage = {
  readonly base: string
  readonly name: string | undefined
  readonly root: string
  workdir: string
  readonly env: Record<string, string>
  user: string | undefined
  entrypoint: readonly string[]
  healthcheck: readonly string[]
  readonly volumes: string[]
}

export type Image = Readonly<Stage>

export type Build = {
  /** The folder with Containerfile and .dockerignore. */
  readonly context: string
  /** Where stages are put. */
  readonly scratch: string
  /** Values of ARG; those that are left out are empty. */
  readonly arguments: Record<string, string>
  /** The environment of RUN. */
  readonly env: NodeJS.ProcessEnv
}

export async function buildImage(build: Build): Promise<Image> {
  const stages: Stage[] = []
  for (const { instruction, rest } of instructionsOf(
    await readFile(join(build.context, 'Containerfile'), 'utf8'),
  )) {
    if (instruction === 'FROM') stages.push(await startStage(rest, build, stages.length))
    else await perform(instruction, rest, stages, build)
  }
  return stages.at(-1)!
}

export const instructionsOf = (text: string): { instruction: string; rest: string }[] =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, instruction = '', rest = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? []
      return { instruction, rest }
    })

async function startStage(rest: string, { scratch }: Build, number: number): Promise<Stage> {
  const [, base = '', name] = /^(?:--platform=\S+ )?(\S+)(?: AS (\S+))?$/.exec(rest) ?? []
  const root = join(scratch, `stage-${number}`)
  await mkdir(root, { recursive: true })
  return {
    base,
    name,
    root,
    workdir: '/',
    env: {},
    user: undefined,
    entrypoint: [],
    healthcheck: [],
    volumes: [],
  }
}

async function perform(
  instruction: string,
  rest: string,
  stages: readonly Stage[],
  build: Build,
): Promise<void> {
  const stage = stages.at(-1)!
  switch (instruction) {
    case 'ARG':
    case 'EXPOSE':
      return
    case 'WORKDIR':
      stage.workdir = rest
      await mkdir(join(stage.root, rest), { recursive: true })
      return
    case 'ENV': {
      const [, name = '', value = ''] = /^(\w+)=(.*)$/.exec(rest) ?? []
      stage.env[name] = value.replace(/^\$(\w+)$/, (_, argument: string) => build.arguments[argument] ?? '')
      return
    }
    case 'USER':
      stage.user = rest
      return
    case 'VOLUME':
      stage.volumes.push(rest)
      return
    case 'ENTRYPOINT':
      stage.entrypoint = JSON.parse(rest) as string[]
      return
    case 'HEALTHCHECK':
      stage.healthcheck = JSON.parse(rest.replace(/^.* CMD /, '')) as string[]
      return
    case 'COPY':
      return copy(rest, stage, stages, build)
    case 'RUN':
      return run(rest, stage, build)
    default:
      throw new Error(`The Containerfile has ${instruction}, which is not known here`)
  }
}

async function copy(rest: string, stage: Stage, stages: readonly Stage[], build: Build): Promise<void> {
  const words = rest.split(' ')
  const flag = (name: string) =>
    words.find((word) => word.startsWith(`--${name}=`))?.slice(`--${name}=`.length)
  const from = flag('from')
  const paths = words.filter((word) => !word.startsWith('--'))
  const to = paths.pop()!
  const target = to.startsWith('/') ? join(stage.root, to) : join(stage.root, stage.workdir, to)
  const source = stages.find(({ name }) => name !== undefined && name === from)?.root
  if (from !== undefined && source === undefined) throw new Error(`There is no stage ${from}`)
  const isSent =
    from === undefined ? sentToBuild(await readFile(join(build.context, '.dockerignore'), 'utf8')) : undefined
  for (const path of paths) {
    const end = to.endsWith('/') ? join(target, basename(path)) : target
    await mkdir(dirname(end), { recursive: true })
    await cp(join(source ?? build.context, path), end, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (file) => isSent?.(file.slice(build.context.length).replace(/^\//, '')) ?? true,
    })
    const [uid, gid] = (flag('chown') ?? '').split(':').map(Number)
    if (flag('chown') !== undefined && process.getuid?.() === 0) await chown(end, uid!, gid!)
  }
}

async function run(command: string, stage: Stage, { arguments: given, env }: Build): Promise<void> {
  // The stage is a folder here, so absolute paths are below it.
  const local = command.replace('mkdir -p /', `mkdir -p ${stage.root}/`)
  await promisify(execFile)('/bin/sh', ['-c', local], {
    cwd: join(stage.root, stage.workdir),
    env: { ...env, ...given },
    maxBuffer: 64 * 1024 * 1024,
  })
}

/** What programs of an image need of its base: the libraries they are linked with, and a few programs. */
export async function addBase({ root }: Image, programs: readonly string[]): Promise<void> {
  for (const folder of ['tmp', 'proc', 'dev', 'etc']) await mkdir(join(root, folder), { recursive: true })
  await writeFile(join(root, 'etc/hosts'), '127.0.0.1 localhost\n')
  const native = globSync('app/node_modules/**/{bin/node,*.node}', { cwd: root })
  const libraries = await librariesOf([...programs, ...native.map((path) => join(root, path))])
  for (const file of [...programs, ...libraries]) {
    await mkdir(dirname(join(root, file)), { recursive: true })
    await cp(file, join(root, file), { dereference: true })
  }
}

async function librariesOf(binaries: readonly string[]): Promise<ReadonlySet<string>> {
  // It fails when one of them is not linked with anything, and still tells about the others.
  const { stdout } = await promisify(execFile)('ldd', binaries).catch((error: { stdout: string }) => error)
  return new Set([...stdout.matchAll(/(?:=> |^\s+)(\/\S+) \(0x/gm)].map(([, path]) => path!))
}
