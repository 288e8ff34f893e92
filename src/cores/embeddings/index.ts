/** What the embeddings core exports. */
export { createEmbeddings, type EmbeddingDeps } from './create-embeddings.ts'
export { createTextEmbedding } from './embed-texts.ts'
export { takeTokens } from './embedding-allowance.ts'
export { requireBulkModel } from './require-bulk-model.ts'
