/** Paths that no proposal may touch: whatever runs before anybody looks, guards something, or instructs agents. */
import type { ProtectedClass } from '../../contracts/protected-classes.ts'
import { fitsGlob } from './path-globs.ts'
import { SECRET_FILES } from './secret-files.ts'

/** Files and folders of these names, wherever they lie. Nobody can open these. */
const ALWAYS: readonly string[] = [
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
  // Ours.
  '.svc',
]

/** Those that an owner may open, class by class. */
const CLASSES: Readonly<Record<ProtectedClass, readonly string[]>> = {
  ci: [
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
    '.lefthook.y*ml',
    '.pre-commit-config.y*ml',
    'renovate.json*',
    'dependabot.y*ml',
  ],
  containers: [
    'Dockerfile*',
    '*.dockerfile',
    'Containerfile*',
    '.dockerignore',
    'docker-compose*.y*ml',
    'compose.y*ml',
    'compose.*.y*ml',
    'docker-bake.*',
    'skaffold.y*ml',
    'Tiltfile',
    'Vagrantfile',
    'kustomization.y*ml',
    'Chart.y*ml',
    'helmfile.y*ml',
    'fly.toml',
    'render.y*ml',
    'vercel.json',
    'netlify.toml',
    'serverless.y*ml',
    '*.tf',
    '*.tfvars',
    'Procfile*',
  ],
  build: [
    'Makefile',
    'GNUmakefile',
    '*.mk',
    'justfile',
    '.justfile',
    'Taskfile.y*ml',
    'Rakefile',
    'gulpfile.*',
    'Gruntfile.*',
    'deploy.*',
    'deploy',
    '*.config.js',
    '*.config.cjs',
    '*.config.mjs',
    '*.config.ts',
    '*.config.cts',
    '*.config.mts',
    '.eslintrc*',
    '.babelrc*',
    '.prettierrc*',
    '.stylelintrc*',
    '.swcrc',
    '.mocharc*',
    '.bazelrc',
    'BUILD',
    'BUILD.bazel',
    'WORKSPACE*',
    'MODULE.bazel',
    'CMakeLists.txt',
    'configure',
    'setup.py',
    'conftest.py',
    'noxfile.py',
    'tox.ini',
    'build.rs',
    'build.gradle*',
    'settings.gradle*',
    'gradlew*',
    'mvnw*',
    'build.sbt',
    'build.xml',
    'Directory.Build.*',
    'extconf.rb',
    'binding.gyp',
    'lerna.json',
    'nx.json',
    'turbo.json',
  ],
  editors: [
    '.vscode',
    '*.code-workspace',
    '.devcontainer',
    '.devcontainer.json',
    '.idea',
    '.zed',
    '.fleet',
    '.nova',
    '.vim',
    '.exrc',
    '.nvim.lua',
    '.nvimrc',
    '.dir-locals.el',
    '*.sublime-project',
    '.vs',
    '.run',
    'mise.toml',
    '.mise.toml',
    '.tool-versions',
    '.envrc',
  ],
  agents: [
    'AGENTS*.md',
    'CLAUDE*.md',
    'GEMINI.md',
    'QWEN.md',
    'SKILL.md',
    'copilot-instructions.md',
    '*.instructions.md',
    '.agents',
    '.agent',
    '.claude',
    '.codex',
    '.cursor',
    '.cursorrules',
    '.windsurf',
    '.windsurfrules',
    '.cline',
    '.clinerules',
    '.roo',
    '.roorules*',
    '.roomodes',
    '.kilocode',
    '.kiro',
    '.junie',
    '.aider*',
    '.gemini',
    '.qwen',
    '.continue',
    '.continuerc*',
    '.goosehints',
    '.augment*',
    '.trae',
    '.amazonq',
    '.opencode',
    'opencode.json*',
    '.rules',
    '.mcp.json',
    'mcp.json',
  ],
}

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

export type PathRules = {
  /** Globs of the organization's own. */
  readonly globs: readonly string[]
  /** What an owner has opened. */
  readonly allowed: readonly ProtectedClass[]
  /** Files that something runs: see executed-files.ts. */
  readonly executed: ReadonlySet<string>
}

/** Those of the paths that may not be changed together. */
export function protectedAmong(paths: readonly string[], { globs, allowed, executed }: PathRules): string[] {
  const changed = new Set(paths.map((path) => path.toLowerCase()))
  const closed = Object.entries(CLASSES).flatMap(([name, ofClass]) =>
    allowed.includes(name as ProtectedClass) ? [] : ofClass,
  )
  const isExecuted = (path: string) => executed.has(path) && !allowed.includes('build')
  return paths.filter(
    (path) =>
      [...ALWAYS, ...closed, ...globs].some((glob) => fitsGlob(path, glob)) ||
      isExecuted(path) ||
      isLockFileAlone(path, changed),
  )
}

function isLockFileAlone(path: string, changed: ReadonlySet<string>): boolean {
  const at = path.lastIndexOf('/') + 1
  const [folder, name] = [path.slice(0, at).toLowerCase(), path.slice(at).toLowerCase()]
  const manifests = Object.hasOwn(LOCK_FILES, name) ? LOCK_FILES[name] : undefined
  return manifests !== undefined && !manifests.some((manifest) => changed.has(folder + manifest))
}
