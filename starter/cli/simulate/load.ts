import { isKnownKind } from '../../../api/shapes/objects.ts'
import { isObject } from '../../../core/values/json.ts'
import { InputError, ReportedError } from '../../document/reported-error.ts'
import { type Catalog, readCatalog } from '../../files/catalog.ts'
import { type InputFile, inputName } from '../../files/input-file.ts'
import type { PolicyName } from '../../files/ready-decision.ts'
import { checkScenario, manifestsOf, readDocuments, type SourceDocument } from '../../files/source.ts'
import { type Overrides, type Scenario } from '../../files/taking-part.ts'
import { filesOf, manifestSuffixes, needInput } from '../shared/input.ts'
import { completed, workloadRemarks } from './complete/complete.ts'
import { type DisruptionResultJson, decide } from './disruption.ts'
import { checkedManifests, decideManifests, readManifests, unknownRemarks } from './manifests.ts'
import { readScenario } from './scenario.ts'

export interface LoadSettings {
  readonly catalog?: InputFile
  readonly prices: readonly InputFile[]
  readonly overrides: Overrides
  readonly complete: boolean
  /** Whether the question is what would be disrupted; a scenario asks it by naming a method. */
  readonly disruption: boolean
  readonly policy?: PolicyName
}

/** A problem to solve. */
export interface Loaded {
  /** Makes it of what was parsed, each time again. */
  readonly read: () => Scenario
  /** Present where the question is what would be disrupted. */
  readonly decide?: () => DisruptionResultJson
  /** What a reader should know about the input. */
  readonly remarks: () => readonly string[]
}

/** Reads a scenario, or manifests. Errors: InputError. */
export async function load(inputs: readonly InputFile[], settings: LoadSettings): Promise<Loaded> {
  const documents = await readDocuments(inputs)
  const catalog = settings.catalog === undefined ? undefined : await readCatalog(settings.catalog, settings.prices)
  const scenario = documents.find(isScenario)
  if (scenario === undefined) return loadManifests({ inputs, documents, catalog }, settings)
  if (documents.length > 1)
    throw new InputError(`${scenario.file}: is a scenario, which is whole by itself; leave out the other files`)
  const sold = catalog && { instanceTypes: catalog.typesFor(), wellKnownLabels: catalog.wellKnownLabels }
  let isChecked = false
  const isDisruption = settings.disruption || (isObject(scenario.value) && 'method' in scenario.value)
  return {
    ...(isDisruption ? { decide: () => decideScenario(scenario, settings, sold) } : {}),
    read: () => {
      // Once is enough: it is the same text in every round.
      if (!isChecked) checkScenario(scenario)
      isChecked = true
      return readScenario(scenario.value, { ...settings.overrides, ...sold })
    },
    remarks: () => scenarioRemarks(scenario),
  }
}

function decideScenario(
  scenario: SourceDocument,
  { overrides: { now }, policy }: LoadSettings,
  sold: Pick<Overrides, 'instanceTypes' | 'wellKnownLabels'> | undefined,
): DisruptionResultJson {
  checkScenario(scenario)
  return decide(scenario.value, { ...sold, ...(now === undefined ? {} : { now }), ...(policy && { policy }) })
}

/** A manifest always says its kind. */
function isScenario({ value }: SourceDocument): boolean {
  return isObject(value) && !('kind' in value) && !('apiVersion' in value)
}

function scenarioRemarks({ value }: SourceDocument): readonly string[] {
  const objects = isObject(value) && Array.isArray(value['objects']) ? (value['objects'] as readonly unknown[]) : []
  const unknown = new Map<string, number>()
  for (const object of objects) {
    const kind = isObject(object) ? object['kind'] : undefined
    if (typeof kind !== 'string' || isKnownKind(kind)) continue
    unknown.set(kind, (unknown.get(kind) ?? 0) + 1)
  }
  return unknownRemarks(unknown)
}

interface ManifestInput {
  readonly inputs: readonly InputFile[]
  readonly documents: readonly SourceDocument[]
  readonly catalog: Catalog | undefined
}

async function loadManifests(
  { inputs, documents, catalog }: ManifestInput,
  { overrides, complete, disruption, policy = 'joiner' }: LoadSettings,
): Promise<Loaded> {
  const manifests = documents.flatMap(manifestsOf)
  if (manifests.length === 0)
    throw new InputError(
      `${inputs.map(({ file }) => inputName(file)).join(', ')}: nothing to simulate; give a scenario or manifests`,
    )
  if (catalog === undefined)
    throw new InputError(
      'manifests do not say what the cloud sells; add --catalog FILE with {"instanceTypes": [...]} or with resource SKUs',
    )
  const now = overrides.now ?? new Date().toISOString()
  const given = await checkedManifests(manifests, complete)
  const checked = complete ? completed(given, now) : given
  const manifestSettings = { catalog, overrides, now }
  const read = () => readManifests(checked, manifestSettings)
  const decision = disruption ? { decide: () => decideManifests(checked, { ...manifestSettings, policy }) } : {}
  return {
    ...decision,
    read,
    remarks: () => [...checked.remarks, ...read().remarks, ...(complete ? [] : workloadRemarks(given.objects))],
  }
}

/** The bytes of files, of all manifests below directories, and of standard input (`-`), in the order given. Errors: ReportedError. */
export async function readInputs(inputs: readonly string[]): Promise<readonly InputFile[]> {
  const files: InputFile[] = []
  for (const input of inputs) {
    const found = filesOf(input)
    if (found.length === 0)
      throw new ReportedError(
        `${inputName(input)}: the directory holds no manifests; files end in ${manifestSuffixes.join(', ')}`,
      )
    for (const file of found) files.push(await needInput(file))
  }
  return files
}

/**
 * Returns a region's prices as a file of them, read from the retail price API or from `JOINER_PRICES_ENDPOINT`. Errors: the API cannot be reached, or answers
 * something else.
 */
export async function fetchedPrices(region: string, env: NodeJS.ProcessEnv = process.env): Promise<InputFile> {
  const [{ fetchPriceItems }, { priceEndpoint }] = await Promise.all([
    import('../../../activities/azure/catalogue/retail-prices.ts'),
    import('../../picture/prices.ts'),
  ])
  const endpoint = priceEndpoint(env)
  console.error(`reading the prices of ${region} from ${endpoint} ...`)
  try {
    const items = await fetchPriceItems(endpoint, region)
    const bytes = new TextEncoder().encode(JSON.stringify({ Items: items }))
    return { file: `prices of ${region}`, bytes }
  } catch (error) {
    throw new ReportedError(`--fetch-prices ${region}: ${(error as Error).message}; use --prices FILE`)
  }
}
