// The layers of the tree and what each may import. `.oxlintrc.json` holds the same rules for editors; this table is the whole truth.
import type { Source } from './sources.ts'

/** A layer's files and the layers that they may import besides their own. */
interface Layer {
  readonly name: string
  /** The first layer that matches a path is its layer. */
  readonly files: RegExp
  /** Names of layers, or `all`. */
  readonly imports: readonly string[] | 'all'
}

/** Activities start workflows by the names in `workflows/`; workflows see activities through contracts alone, so no arrow leads back. */
const layers: readonly Layer[] = [
  { name: 'tests', files: /\.test\.ts$|^(?:test|bench)\//, imports: 'all' },
  {
    name: 'entry',
    files: /^starter\/joiner\.ts$/,
    imports: ['core', 'api', 'reading', 'starter', 'workers', 'deploy/local'],
  },
  { name: 'core', files: /^core\//, imports: [] },
  { name: 'api', files: /^api\//, imports: ['core'] },
  { name: 'contracts', files: /^activities\/[^/]+\/(?:[a-z-]+-)?contract\.ts$/, imports: ['core', 'api'] },
  { name: 'workflows', files: /^workflows\//, imports: ['core', 'api', 'contracts'] },
  { name: 'activities', files: /^activities\//, imports: ['core', 'api', 'contracts', 'workflows'] },
  { name: 'ui contract', files: /^starter\/ui\/contract\.ts$/, imports: ['core', 'reading', 'starter'] },
  // How amounts and times are written: the same in a terminal and in a browser.
  { name: 'words', files: /^starter\/document\/words\.ts$/, imports: ['core'] },
  // What runs in a browser knows of the rest only what the server says.
  { name: 'page', files: /^starter\/ui\/page\//, imports: ['ui contract', 'words'] },
  // What is read and what is said of it; which command asks for it, and by which options, is none of its business.
  {
    name: 'reading',
    files: /^starter\/(?:answers|bridge|document|files|picture|temporal)\//,
    imports: ['core', 'api', 'contracts', 'workflows', 'activities', 'ui contract', 'words'],
  },
  {
    name: 'starter',
    files: /^starter\//,
    imports: ['core', 'api', 'contracts', 'workflows', 'activities', 'reading', 'ui contract', 'words'],
  },
  {
    name: 'workers',
    files: /^workers\//,
    imports: ['core', 'api', 'contracts', 'workflows', 'activities', 'reading', 'starter'],
  },
  // The local cluster runs Joiner's own connection to Temporal and its Azure client against the servers that it starts.
  { name: 'deploy/local', files: /^deploy\/local\//, imports: ['core', 'api', 'activities', 'reading', 'starter'] },
  { name: 'deploy', files: /^deploy\//, imports: ['core', 'api'] },
]

/** The layer of a file. Throws for a file in no layer. */
function layerOf(path: string): Layer {
  const layer = layers.find(({ files }) => files.test(path))
  if (layer === undefined) throw new Error(`${path}: belongs to no layer; add one to test/structure/layers.ts`)
  return layer
}

/** Imports that a layer's rules forbid: `FILE (LAYER) imports FILE (LAYER)`. */
export function backArrows(sources: readonly Source[]): readonly string[] {
  return sources.flatMap(({ path, imports }) => {
    const from = layerOf(path)
    return imports.flatMap((imported) => {
      const to = layerOf(imported)
      const allowed = from === to || from.imports === 'all' || from.imports.includes(to.name)
      return allowed ? [] : [`${path} (${from.name}) imports ${imported} (${to.name})`]
    })
  })
}
