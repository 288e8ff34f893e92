/** What the documents core exports. */
export { prepareDocuments, type DocumentsRow } from './prepare-documents.ts'
export { READER_VERSION, type DivideTexts, type FileProblem, type ReadDocument } from './read-document.ts'
export { requireDocuments } from './require-documents.ts'
export {
  ACCESS_RULES,
  APPLY_ACCESS,
  BEFORE,
  DOCUMENT_COLUMNS,
  embeddingIndex,
  PASSAGE_COLUMNS,
  readVersion,
} from './tables.ts'
