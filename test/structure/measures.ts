// What the gate measures of the tree's structure, and the limits.
import { dirname } from 'node:path'
import { importCycles } from './cycles.ts'
import { backArrows } from './layers.ts'
import { mayRemember } from './module-state.ts'
import type { Source } from './sources.ts'

/** One measure of the tree: a row of the table. */
export interface Measure {
  readonly name: string
  readonly value: number
  readonly limit: { readonly atMost: number } | { readonly atLeast: number }
  /** What makes up the value, worst first, for a person to fix. */
  readonly offenders: readonly string[]
}

const maxParameters = 3
const maxLines = 400
const maxFunctionLines = 60
const maxFiles = 20
/** A file with fewer lines and one importer is a door to one room: its content is better read where it is used. */
const minLines = 60

/** Measures a tree. Tests count for cycles and the ratio alone. */
export function measure(sources: readonly Source[]): readonly Measure[] {
  const cycles = importCycles(sources)
  const product = sources.filter((source) => isProduct(source) && !source.test)
  return [
    {
      name: 'import cycles, imports of types included',
      value: cycles.length,
      limit: { atMost: 0 },
      offenders: cycles.map(({ files, path }) => `${files.length} files, such as ${path.join(' -> ')}`),
    },
    row('back-arrows between layers', 0, backArrows(sources)),
    row(`functions with more than ${maxParameters} parameters`, 19, longParameterLists(product)),
    row('state and clocks that a module keeps', 0, rememberedState(product)),
    row(`folders of more than ${maxFiles} source files`, 0, crowdedFolders(sources)),
    row(`files of more than ${maxLines} lines`, 0, longFiles(product)),
    row(`functions of more than ${maxFunctionLines} lines`, 4, longFunctions(product)),
    row(`files of less than ${minLines} lines that one file imports`, 57, doors(product)),
    row('files from a launch to the PUT of its VM, with those that they call', 30, filesOfLaunch(product)),
    row('imports from one command of the command line to another', 0, commandImports(product)),
    row('exports that only tests and benches use', 0, testedAlone(sources)),
    testRatio(sources),
  ]
}

/** Whether a measure keeps its limit. */
export function holds({ value, limit }: Measure): boolean {
  return 'atMost' in limit ? value <= limit.atMost : value >= limit.atLeast
}

const row = (name: string, atMost: number, offenders: readonly string[]): Measure => ({
  name,
  value: offenders.length,
  limit: { atMost },
  offenders,
})

const isProduct = ({ path }: Source) => !path.startsWith('test/') && !path.startsWith('bench/')

function longParameterLists(product: readonly Source[]): readonly string[] {
  return product
    .flatMap(({ path, functions }) => functions.map((one) => ({ path, ...one })))
    .filter(({ parameters }) => parameters > maxParameters)
    .toSorted((a, b) => b.parameters - a.parameters)
    .map(({ path, line, name, parameters }) => `${path}:${line} ${name} has ${parameters}`)
}

function rememberedState(product: readonly Source[]): readonly string[] {
  return product
    .filter(({ path }) => !path.startsWith('deploy/') && !mayRemember(path))
    .flatMap(({ path, state }) => state.map(({ name, line, why }) => `${path}:${line} ${name} ${why}`))
}

function crowdedFolders(sources: readonly Source[]): readonly string[] {
  const files = Map.groupBy(
    sources.filter(({ test }) => !test),
    ({ path }) => dirname(path),
  )
  return [...files].flatMap(([folder, { length }]) => (length > maxFiles ? [`${folder} has ${length}`] : []))
}

function longFiles(product: readonly Source[]): readonly string[] {
  return product
    .filter(({ lines }) => lines > maxLines)
    .toSorted((a, b) => b.lines - a.lines)
    .map(({ path, lines }) => `${path} has ${lines}`)
}

function longFunctions(product: readonly Source[]): readonly string[] {
  return product
    .flatMap(({ path, functions }) => functions.map((one) => ({ path, ...one })))
    .filter(({ lines }) => lines > maxFunctionLines)
    .toSorted((a, b) => b.lines - a.lines)
    .map(({ path, line, name, lines }) => `${path}:${line} ${name} has ${lines}`)
}

/** Tests are no importers: what they alone import besides may as well be imported from where it is used. */
function doors(product: readonly Source[]): readonly string[] {
  const arrows = product.flatMap(({ path, imports }) => imports.map((imported) => ({ path, imported })))
  const importers = Map.groupBy(arrows, ({ imported }) => imported)
  return product
    .filter(({ lines }) => lines < minLines)
    .toSorted((a, b) => a.lines - b.lines)
    .flatMap(({ path, lines }) => {
      const [importer, ...others] = importers.get(path) ?? []
      return importer === undefined || others.length > 0 ? [] : [`${path} has ${lines}, for ${importer.path}`]
    })
}

/** From the activity to the PUT: what decides, what chooses between VMs and AKS machines, and what sends. */
const launch = 'activities/azure/launch/launch.ts'
const choice = 'activities/azure/machines/instance-of.ts'
const put = 'activities/azure/launch/put-vm.ts'

/** What a reader opens who follows the launch of a VM: those three, and what the launch and the PUT call. Errors: one of them has moved. */
function filesOfLaunch(product: readonly Source[]): readonly string[] {
  const files = new Map(product.map((source) => [source.path, source]))
  const [moved] = [launch, choice, put].filter((path) => !files.has(path))
  if (moved !== undefined && product.some(({ path }) => path.startsWith('activities/azure/')))
    throw new Error(`${moved} is not there; name in test/structure/measures.ts where a launch goes now`)
  const called = [launch, put].flatMap((path) => [path, ...(files.get(path)?.uses ?? [])])
  return moved === undefined ? [...new Set([...called, choice])].toSorted() : []
}

/** Read by its path, in workers and in the sandbox of workflows. */
const loadedByPath = 'starter/temporal/failure-converter.ts'

/** What the product itself does not use is not worth a test. The local servers are tools of tests too. */
function testedAlone(sources: readonly Source[]): readonly string[] {
  const isOwn = (source: Source) => isProduct(source) && !source.test
  const namesTaken = (of: (source: Source) => boolean) => new Set(sources.filter(of).flatMap(({ taken }) => taken))
  const used = namesTaken(isOwn)
  const tested = namesTaken((source) => !isOwn(source))
  const judged = sources.filter(isOwn).filter(({ path }) => !path.startsWith('deploy/local/') && path !== loadedByPath)
  return judged.flatMap(({ path, offered }) =>
    offered
      .filter(({ name }) => tested.has(`${path}#${name}`) && !used.has(`${path}#${name}`) && !used.has(`${path}#*`))
      .map(({ name, line }) => `${path}:${line} ${name}`),
  )
}

/** A command is a folder of `starter/cli` with a `command.ts`. What commands share lies in the folders beside. */
function commandImports(product: readonly Source[]): readonly string[] {
  const folderOf = (path: string) => /^starter\/cli\/[^/]+\//.exec(path)?.[0]
  const commands = new Set(product.flatMap(({ path }) => (path.endsWith('/command.ts') ? (folderOf(path) ?? []) : [])))
  return product.flatMap(({ path, imports }) => {
    const from = folderOf(path)
    if (from === undefined || !commands.has(from)) return []
    return imports
      .filter((imported) => imported !== path && folderOf(imported) !== from && commands.has(folderOf(imported) ?? ''))
      .map((imported) => `${path} imports ${imported}`)
  })
}

/** Lines of all tests and of what only tests use, for each line of the product. Packaging and the local servers are neither. */
function testRatio(sources: readonly Source[]): Measure {
  const tests = sources.filter(({ path, test }) => test || path.startsWith('test/'))
  const product = sources.filter((source) => isProduct(source) && !source.test && !source.path.startsWith('deploy/'))
  const lines = { tests: total(tests), product: total(product) }
  return {
    name: 'lines of tests for a line of the product',
    value: lines.product === 0 ? 0 : Math.floor((lines.tests / lines.product) * 100) / 100,
    limit: { atLeast: 0.9 },
    offenders: [`${lines.tests} lines of tests, ${lines.product} of the product`],
  }
}

const total = (sources: readonly Source[]) => sources.reduce((sum, { lines }) => sum + lines, 0)
