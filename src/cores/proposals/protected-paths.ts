/** Paths that no proposal may touch: whatever runs before anybody looks, guards something, or instructs agents. */
import { SECRET_FILES } from './secret-files.ts'
import { fitsGlob } from './path-globs.ts'

/** Files and folders of these names, wherever they lie. */
const ALWAYS = [
  // Continuous integration, and hooks that run on the machines of developers.
  '.github',
  '.gitlab',
  '.gitlab-ci.y*ml',
  '.gitea',
  '.forgejo',
  '.circleci',
  '.buildkite',
  '.travis.y*ml',
  '.drone.y*ml',
  '.cirrus.y*ml',
  '.woodpecker',
  '.woodpecker.y*ml',
  '.ci',
  'azure-pipelines*.y*ml',
  'bitbucket-pipelines.y*ml',
  'appveyor.y*ml',
  'buildspec*.y*ml',
  'cloudbuild*.y*ml',
  'Jenkinsfile*',
  '.husky',
  '.githooks',
  'lefthook.y*ml',
  '.pre-commit-config.y*ml',
  // What editors run when a folder is opened.
  '.vscode',
  '.devcontainer',
  '.idea',
  // What git itself obeys, and who must review.
  '.gitattributes',
  '.gitmodules',
  '.gitconfig',
  'CODEOWNERS',
  // Secrets, and where they are kept.
  ...SECRET_FILES,
  '.ssh',
  '.aws',
  '.kube',
  // Where packages come from.
  '.npmrc',
  '.yarnrc*',
  '.pypirc',
  'pip.conf',
  '.cargo',
  '.pnpmfile.cjs',
  '.mvn',
  'gradle-wrapper.properties',
  'nuget.config',
  // What agents are told, our own among them.
  'AGENTS.md',
  'CLAUDE.md',
  'GEMINI.md',
  '.agents',
  '.claude',
  '.codex',
  '.cursor',
  '.cursorrules',
  '.windsurfrules',
  '.clinerules',
  '.gemini',
  '.mcp.json',
  '.svc',
] as const

/** May change with what they are made from, and not alone: nobody reads them. */
const LOCK_FILES: Readonly<Record<string, readonly string[]>> = {
  'package-lock.json': ['package.json'],
  'npm-shrinkwrap.json': ['package.json'],
  'yarn.lock': ['package.json'],
  'pnpm-lock.yaml': ['package.json', 'pnpm-workspace.yaml'],
  'bun.lock': ['package.json'],
  'bun.lockb': ['package.json'],
  'deno.lock': ['deno.json', 'deno.jsonc'],
  'cargo.lock': ['cargo.toml'],
  'go.sum': ['go.mod'],
  'poetry.lock': ['pyproject.toml'],
  'uv.lock': ['pyproject.toml'],
  'pdm.lock': ['pyproject.toml'],
  'pipfile.lock': ['pipfile'],
  'gemfile.lock': ['gemfile'],
  'composer.lock': ['composer.json'],
  'mix.lock': ['mix.exs'],
  'packages.lock.json': ['packages.props', 'directory.packages.props'],
}

/** Those of the paths that may not be changed together; `globs` are the organization's own. */
export function protectedAmong(paths: readonly string[], globs: readonly string[]): string[] {
  const changed = new Set(paths.map((path) => path.toLowerCase()))
  return paths.filter(
    (path) => [...ALWAYS, ...globs].some((glob) => fitsGlob(path, glob)) || isLockFileAlone(path, changed),
  )
}

function isLockFileAlone(path: string, changed: ReadonlySet<string>): boolean {
  const at = path.lastIndexOf('/') + 1
  const [folder, name] = [path.slice(0, at).toLowerCase(), path.slice(at).toLowerCase()]
  const manifests = Object.hasOwn(LOCK_FILES, name) ? LOCK_FILES[name] : undefined
  return manifests !== undefined && !manifests.some((manifest) => changed.has(folder + manifest))
}
