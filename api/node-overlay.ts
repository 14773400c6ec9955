import { z } from 'zod'
import { conditionList, crdExtensions, overlayRequirementList, resourceList } from './fields.ts'

const upstreamAdjustment = String.raw`^(([+-]{1}(\d*\.?\d+))|(\+{1}\d*\.?\d+%)|(^(-\d{1,2}(\.\d+)?%)$)|(-100%))$`
/** Accepts the same texts as upstream's pattern. That one takes hours for a long text, since JavaScript tries every split of the digits. */
const adjustment = /^([+-](\d+(\.\d+)?|\.\d+)|\+(\d+(\.\d+)?|\.\d+)%|-(\d{1,2}(\.\d+)?|100)%)$/

export const nodeOverlaySpec = z
  .object({
    requirements: overlayRequirementList.describe(
      'Which offerings the overlay changes: those whose labels meet all of the entries. An empty list means every offering.',
    ),
    price: z
      .string()
      .regex(/^\d+(\.\d+)?$/, 'write an amount such as "0.42"')
      .optional()
      .describe(
        'The price of the offerings per hour, such as 0.42, in the place of their own. Not together with priceAdjustment.',
      ),
    priceAdjustment: z
      .string()
      .regex(adjustment, 'write an amount such as "-0.05", or a percentage such as "+10%"')
      .meta({ pattern: upstreamAdjustment })
      .optional()
      .describe('Adjustment of the price: an amount such as -0.05, or a percentage such as +10% or -25%.'),
    capacity: resourceList
      .optional()
      .describe('Extended resources added to the nodes, such as smarter-devices/fuse: 1.')
      .register(crdExtensions, {
        cel: [
          {
            rule: "self.all(x, !(x in ['cpu', 'memory', 'ephemeral-storage', 'pods']))",
            message:
              "resources 'cpu', 'memory', 'ephemeral-storage' and 'pods' are the machine's own: only extended resources can be added",
          },
        ],
      }),
    weight: z
      .int()
      .min(1)
      .max(10_000)
      .optional()
      .meta({ format: 'int32' })
      .describe(
        'Of several overlays that change the same, the one of the highest weight counts; unset counts as 0. Two of the same weight are in conflict, which the one that is not used says in its conditions.',
      ),
  })
  .describe('Offerings to adjust, and their adjusted price and resources.')
  .register(crdExtensions, {
    cel: [
      {
        rule: '!has(self.price) || !has(self.priceAdjustment)',
        message: "cannot set both 'price' and 'priceAdjustment'",
      },
    ],
  })

export const nodeOverlayStatus = z
  .object({ conditions: conditionList.optional() })
  .describe('Observed state of the overlay.')
