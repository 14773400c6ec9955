import { methodNames } from '../../core/disruption/command.ts'
import { isObject } from '../../core/values/json.ts'
import { amounts, requirement } from './common.ts'
import { objectProblem } from './objects.ts'
import { type Checked, flag, judged, list, map, number, oneOf, record, text, time, wholeNumber } from './shape.ts'

const overhead = record({ kubeReserved: amounts, systemReserved: amounts, evictionThreshold: amounts })

/** An instance type as scenarios and catalogues write it. */
const instanceType = record(
  {
    name: text,
    requirements: list(requirement),
    offerings: list(
      record({
        requirements: list(requirement),
        price: number,
        available: flag,
        reservationCapacity: wholeNumber,
        capacityOverride: amounts,
        overheadOverride: overhead,
      }),
    ),
    capacity: amounts,
    overhead,
    volumeAttachmentLimits: map(wholeNumber),
  },
  ['name'],
)

/** What is sold, as a file of its own or as a part of a scenario. */
const offered = { instanceTypes: list(instanceType), wellKnownLabels: list(text), reservationIDLabel: text }

export const catalogShape = record(offered)

const object = judged<Readonly<Record<string, unknown>>>((value) => {
  if (!isObject(value)) return { path: [], value, remedy: 'write a map with apiVersion and kind' }
  if (typeof value['kind'] !== 'string') return { path: ['kind'], value: value['kind'], remedy: 'every object has one' }
  return objectProblem(value)
})

const policy = oneOf('Honor', 'Ignore')
const defaultConstraints = list(
  record(
    {
      maxSkew: wholeNumber,
      topologyKey: text,
      whenUnsatisfiable: oneOf('DoNotSchedule', 'ScheduleAnyway'),
      minDomains: wholeNumber,
      nodeAffinityPolicy: policy,
      nodeTaintsPolicy: policy,
    },
    ['maxSkew', 'topologyKey', 'whenUnsatisfiable'],
  ),
)

/** One problem as a file holds it: what the API has, what the cloud offers, and options. */
export const scenarioShape = record({
  ...offered,
  now: time,
  method: oneOf(...methodNames),
  options: record({
    spotToSpotConsolidation: flag,
    terminateFirstDrift: flag,
    podDeletionCostManagement: flag,
    reconcileConditions: flag,
    nominated: list(text),
    markedForDeletion: list(text),
    preferencePolicy: oneOf('Respect', 'Ignore'),
    minValuesPolicy: oneOf('Strict', 'BestEffort'),
    featureGates: map(flag),
    schedulerConfig: record({ podTopologySpread: record({ defaultConstraints }) }),
  }),
  instanceTypesByNodePool: map(list(text)),
  objects: list(object),
})

export type InstanceTypeJson = Checked<typeof instanceType>
export type CatalogJson = Checked<typeof catalogShape>
export type ScenarioJson = Checked<typeof scenarioShape>
