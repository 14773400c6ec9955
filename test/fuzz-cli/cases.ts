import { Random } from '../../bench/workloads/random.ts'
import { corpus, everySeed } from './corpus.ts'
import { mutant, type Seed } from './mutate.ts'

/** A file of a case, under the name that its arguments give it. */
interface CaseFile {
  readonly name: string
  readonly bytes: Uint8Array
}

/** A command line with its files, of which the first is mutated. */
export interface Case {
  readonly index: number
  /** Words after `joiner`; files stand there by their names. */
  readonly words: readonly string[]
  readonly files: readonly CaseFile[]
}

/** The case of a seed and a number: always the same. */
export function caseOf(seed: number, index: number): Case {
  // Numbers that follow one another must not give sequences that are alike.
  const random = new Random(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b))
  return { index, ...random.pick(kinds)(random) }
}

type Kind = (random: Random) => Omit<Case, 'index'>

function mutated(random: Random, seed: Seed): CaseFile {
  return { name: seed.name, bytes: mutant(random, seed, everySeed) }
}

export function plain({ name, values }: Seed): CaseFile {
  return { name, bytes: new TextEncoder().encode(JSON.stringify(values[0])) }
}

const output = (random: Random) => ['--output', random.pick(['table', 'json', 'yaml'])]
const anySeed = (random: Random) =>
  random.chance(0.7) ? random.pick(corpus.manifests) : random.pick([...everySeed, corpus.cluster, corpus.cluster])

const validate: Kind = (random) => {
  const file = mutated(random, anySeed(random))
  return { words: ['validate', ...output(random), file.name], files: [file] }
}

const convert: Kind = (random) => {
  const file = mutated(random, random.chance(0.5) ? corpus.manifests[1] : anySeed(random))
  return { words: ['convert', file.name], files: [file] }
}

const simulateScenario: Kind = (random) => {
  const file = mutated(random, random.pick(corpus.scenarios))
  return { words: ['simulate', ...output(random), file.name], files: [file] }
}

const simulateCluster: Kind = (random) => {
  const file = mutated(random, random.chance(0.8) ? corpus.cluster : random.pick(everySeed))
  const types = plain(corpus.types)
  const more = random.pick([[], ['--complete'], ['--complete'], ['--explain', 'shop/web-0']])
  return { words: ['simulate', ...output(random), ...more, '--catalog', types.name, file.name], files: [file, types] }
}

const simulateCatalog: Kind = (random) => {
  const file = mutated(random, random.chance(0.8) ? corpus.types : random.pick(everySeed))
  const cluster = plain(corpus.cluster)
  return { words: ['simulate', ...output(random), '--catalog', file.name, cluster.name], files: [file, cluster] }
}

const simulateSkus: Kind = (random) => {
  const cluster = plain(corpus.cluster)
  const seeds = random.chance(0.5) ? ([corpus.skus, corpus.prices] as const) : ([corpus.prices, corpus.skus] as const)
  const [file, other] = [mutated(random, seeds[0]), plain(seeds[1])]
  const named = (name: string) => (file.name === name ? file : other).name
  const words = ['--catalog', named(corpus.skus.name), '--prices', named(corpus.prices.name), cluster.name]
  return { words: ['simulate', ...output(random), ...words], files: [file, other, cluster] }
}

const simulateConfig: Kind = (random) => {
  const file = mutated(random, corpus.schedulerConfig)
  const [cluster, types] = [plain(corpus.cluster), plain(corpus.types)]
  const words = ['--scheduler-config', file.name, '--catalog', types.name, cluster.name]
  return { words: ['simulate', ...output(random), ...words], files: [file, cluster, types] }
}

const instanceTypes: Kind = (random) => {
  const [skus, prices, nodeClass] = [corpus.skus, corpus.prices, corpus.nodeClass]
  const changed = random.pick<Seed>([skus, prices, nodeClass])
  const files = [skus, prices, nodeClass].map((seed) => (seed === changed ? mutated(random, seed) : plain(seed)))
  const more = random.pick([[], ['--excluded'], ['--limit', '1']])
  const shape = random.pick(['table', 'wide', 'name', 'json', 'yaml'])
  const words = ['--catalog', skus.name, '--prices', prices.name, '--node-class', nodeClass.name, '-o', shape]
  return {
    words: ['instance-types', ...more, ...words],
    files: [...files].sort((a) => (a.name === changed.name ? -1 : 1)),
  }
}

const apply: Kind = (random) => {
  const file = mutated(random, corpus.plan)
  return { words: ['apply', file.name], files: [file] }
}

/** As often as they stand here. */
const kinds: readonly Kind[] = [
  ...Array.from({ length: 8 }, () => validate),
  ...Array.from({ length: 5 }, () => convert),
  ...Array.from({ length: 5 }, () => simulateScenario),
  ...Array.from({ length: 5 }, () => simulateCluster),
  simulateCatalog,
  simulateSkus,
  simulateConfig,
  instanceTypes,
  instanceTypes,
  apply,
]
