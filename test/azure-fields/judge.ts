// Judges the writes of production by the models of the API version that they ask for.
import { readFileSync } from 'node:fs'
import { readVectors } from '../vectors/packs.ts'
import { facts } from './facts.ts'
import { type SentField, sentFields } from './fields.ts'
import { machineModel } from './machine-model.ts'
import { Models } from './models.ts'
import type { Write } from './requests.ts'

/** A release of an SDK. */
interface Release {
  /** Folder in `node_modules`. */
  readonly folder: string
  readonly models: readonly string[]
  /** The file with the API version that it was generated for. */
  readonly version: string
  /** Models that are written here. */
  readonly more?: string
}

const compute: Release = {
  folder: 'arm-compute-2025-04-01',
  models: ['dist/esm/models/index.d.ts'],
  version: 'dist/esm/models/parameters.js',
}
const newCompute: Release = {
  folder: 'arm-compute-2025-11-01',
  models: ['models.d.ts', 'common/models.d.ts', 'compute/models.d.ts'].map((file) => `dist/esm/models/${file}`),
  version: 'dist/esm/api/virtualMachines/operations.js',
}
const network: Release = {
  folder: 'arm-network-2024-05-01',
  models: ['dist-esm/src/models/index.d.ts'],
  version: 'dist-esm/src/models/parameters.js',
}
const containerService: Release = {
  folder: 'arm-containerservice-2026-06-01',
  models: ['dist/esm/models/models.d.ts'],
  version: 'dist/esm/api/agentPools/operations.js',
  more: machineModel,
}

/** What each write is judged by: its type in the models, and the releases that have it. */
const judges: Readonly<Record<string, { readonly root: string; readonly releases: readonly [Release, ...Release[]] }>> =
  {
    'PUT Microsoft.Compute/virtualMachines': { root: 'VirtualMachine', releases: [newCompute, compute] },
    'PATCH Microsoft.Compute/virtualMachines': { root: 'VirtualMachineUpdate', releases: [newCompute, compute] },
    'PUT Microsoft.Compute/virtualMachines/extensions': {
      root: 'VirtualMachineExtension',
      releases: [newCompute, compute],
    },
    'PATCH Microsoft.Compute/virtualMachines/extensions': {
      root: 'VirtualMachineExtensionUpdate',
      releases: [newCompute, compute],
    },
    'PATCH Microsoft.Network/networkInterfaces': { root: 'TagsObject', releases: [network] },
    'PUT Microsoft.ContainerService/managedClusters/agentPools/machines': {
      root: 'PutMachine',
      releases: [containerService],
    },
  }

/** A kind of write, judged. */
export interface Judgement {
  readonly what: string
  readonly apiVersion: string
  /** Name and version of the release for npm that it was judged by, and the API version that this was generated for. */
  readonly release: string
  readonly generatedFor: string
  /** Whether this is the API version that is asked for. Else the models prove nothing. */
  readonly isExact: boolean
  readonly fields: readonly SentField[]
  /** Keys of the fields and values that the reference provider sends with this version. */
  readonly reference: ReadonlySet<string>
}

/** Returns a judgement of each kind of write. Errors: a kind that nothing is known about. */
export function judge(writes: readonly Write[]): readonly Judgement[] {
  return [...Map.groupBy(writes, ({ what }) => what)].map(([what, same]) => {
    const { apiVersion = '' } = same[0] ?? {}
    const by = judges[what]
    if (by === undefined) throw new Error(`"${what}": nothing says which models it has; add it to judges`)
    const { models, name, generatedFor } = releaseFor(by.releases, apiVersion)
    return {
      what,
      apiVersion,
      release: name,
      generatedFor,
      isExact: generatedFor === apiVersion,
      fields: sentFields(
        same.map(({ body }) => body),
        models,
        by.root,
      ),
      reference: referenceFields(what, apiVersion, { models, root: by.root }),
    }
  })
}

/** Returns what is wrong with the writes: what exact models say, and what is newer than the version that is asked for. */
export function problemsOf(judgements: readonly Judgement[]): readonly string[] {
  return judgements.flatMap(({ what, apiVersion, isExact, fields }) =>
    fields.flatMap(({ path, enum: enumName, values, problems }) => {
      const late = [path, ...values.map((value) => `${enumName} ${value}`)].flatMap((key) => {
        const since = /^[\d-]+/.exec(facts[key]?.since ?? '')?.[0] ?? ''
        return since > apiVersion ? [`${key} is there from ${since} on`] : []
      })
      return [...(isExact ? problems : []), ...late].map((problem) => `${what} ${apiVersion}: ${path}: ${problem}`)
    }),
  )
}

/** Returns what bodies of one kind have beyond the fields and values of a judgement, as `PATH` and `PATH VALUE`, and what exact models say against them. */
export function unlistedIn(bodies: readonly unknown[], listed: Judgement): readonly string[] {
  const known = new Set(listed.fields.flatMap(keysOf))
  const judged = judge(bodies.map((body) => ({ what: listed.what, apiVersion: listed.apiVersion, body })))
  return [
    ...judged.flatMap(({ fields }) => fields.flatMap(keysOf)).filter((key) => !known.has(key)),
    ...problemsOf(judged),
  ]
}

/** Returns a field as `PATH`, or each of its values as `PATH VALUE`. */
export function keysOf({ path, values }: SentField): readonly string[] {
  return values.length === 0 ? [path] : values.map((value) => `${path} ${value}`)
}

interface ReadRelease {
  readonly models: Models
  readonly name: string
  readonly generatedFor: string
}

const read = new Map<Release, ReadRelease>()

/** Returns the release for an API version, or for the nearest later one, or the latest. */
function releaseFor(releases: readonly Release[], apiVersion: string): ReadRelease {
  const known = releases
    .map((release) => {
      const found = read.get(release) ?? readRelease(release)
      read.set(release, found)
      return found
    })
    .toSorted((one, other) => (one.generatedFor < other.generatedFor ? -1 : 1))
  return known.find(({ generatedFor }) => generatedFor >= apiVersion) ?? (known.at(-1) as ReadRelease)
}

function readRelease({ folder, models, version, more = '' }: Release): ReadRelease {
  const text = (file: string) => readFileSync(new URL(`../../node_modules/${folder}/${file}`, import.meta.url), 'utf8')
  const generatedFor = /"(20\d\d-\d\d-\d\d(?:-preview)?)"/.exec(text(version))?.[1]
  if (generatedFor === undefined) throw new Error(`${folder}/${version}: names no API version`)
  const { name, version: release } = JSON.parse(text('package.json')) as {
    readonly name: string
    readonly version: string
  }
  return { models: new Models([...models.map(text), more].join('\n')), name: `${name} ${release}`, generatedFor }
}

interface Typed {
  readonly models: Models
  readonly root: string
}

interface GoldenCase {
  readonly expected?: {
    readonly vm?: unknown
    readonly extensions?: readonly { readonly body: unknown }[]
    readonly machine?: unknown
  }
}

/** Where the requests of the reference provider are, with the version that it asks for. */
const golden: Readonly<
  Record<
    string,
    { readonly file: string; readonly apiVersion: string; readonly of: (one: GoldenCase) => readonly unknown[] }
  >
> = {
  'PUT Microsoft.Compute/virtualMachines': {
    file: 'azure/vm-create',
    apiVersion: '2025-04-01',
    of: ({ expected }) => (expected?.vm === undefined ? [] : [expected.vm]),
  },
  'PUT Microsoft.Compute/virtualMachines/extensions': {
    file: 'azure/vm-create',
    apiVersion: '2025-04-01',
    of: ({ expected }) => (expected?.extensions ?? []).map(({ body }) => body),
  },
  'PUT Microsoft.ContainerService/managedClusters/agentPools/machines': {
    file: 'azure/machine-create',
    apiVersion: '2026-04-02-preview',
    of: ({ expected }) => (expected?.machine === undefined ? [] : [expected.machine]),
  },
}

function referenceFields(what: string, apiVersion: string, { models, root }: Typed): ReadonlySet<string> {
  const found = golden[what]
  if (found?.apiVersion !== apiVersion) return new Set()
  const { cases } = readVectors(found.file) as { readonly cases: readonly GoldenCase[] }
  const fields = sentFields(cases.flatMap(found.of), models, root)
  return new Set(fields.flatMap(keysOf))
}
