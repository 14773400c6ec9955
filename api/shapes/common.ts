import { flag, list, map, number, oneOf, quantity, record, text, time, wholeNumber } from './shape.ts'

// Parts of several kinds of objects.

export const texts = map(text)
export const amounts = map(quantity)

export const metadata = record(
  {
    name: text,
    namespace: text,
    uid: text,
    resourceVersion: text,
    generation: number,
    creationTimestamp: time,
    deletionTimestamp: time,
    deletionGracePeriodSeconds: number,
    labels: texts,
    annotations: texts,
    finalizers: list(text),
    ownerReferences: list(
      record({ apiVersion: text, kind: text, name: text, uid: text, controller: flag }, ['kind', 'name']),
    ),
  },
  ['name'],
)

const operators = oneOf('In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt', 'Gte', 'Lte')
export const requirement = record({ key: text, operator: operators, values: list(text), minValues: wholeNumber }, [
  'key',
  'operator',
])
export const expressions = list(record({ key: text, operator: operators, values: list(text) }, ['key', 'operator']))

const selectorOperators = oneOf('In', 'NotIn', 'Exists', 'DoesNotExist')
export const selector = record({
  matchLabels: texts,
  matchExpressions: list(record({ key: text, operator: selectorOperators, values: list(text) }, ['key', 'operator'])),
})

const effect = oneOf('NoSchedule', 'PreferNoSchedule', 'NoExecute')
export const taint = record({ key: text, value: text, effect, timeAdded: time }, ['key', 'effect'])

export const conditions = list(
  record({ type: text, status: text, reason: text, message: text, lastTransitionTime: text }, ['type']),
)
