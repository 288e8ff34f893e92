/** The embedding model of EMBEDDING_MODEL_DIR, checked before anything starts. */
import type { ModelFolder } from '../adapters/embeddings/model-folder.ts'
import { BUILT_IN_MODEL } from '../contracts/embedding-settings.ts'
import { ConfigProblems, type Config } from './config.ts'

export async function readModelDir(
  config: Pick<Config, 'EMBEDDING_MODEL_DIR' | 'EMBEDDING_MODELS'>,
): Promise<ModelFolder | undefined> {
  const { EMBEDDING_MODEL_DIR: path, EMBEDDING_MODELS: remote } = config
  if (path === undefined) return undefined
  const { ModelProblem, readModelFolder, readTokenizer } =
    await import('../adapters/embeddings/model-folder.ts')
  const refuse = (problem: string) => new ConfigProblems([`EMBEDDING_MODEL_DIR: ${problem}`])
  try {
    const folder = readModelFolder(path)
    readTokenizer(folder)
    if (!/^[^\p{C}\p{Z}]{1,100}$/u.test(folder.name)) {
      throw refuse('the folder is called as the model will be: without blanks, at most 100 characters')
    }
    if (folder.name === BUILT_IN_MODEL.name || remote.has(folder.name)) {
      throw refuse(`there is another model called ${folder.name}; give the folder another name`)
    }
    return folder
  } catch (error) {
    throw error instanceof ModelProblem ? refuse(error.message) : error
  }
}
