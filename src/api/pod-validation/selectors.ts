import type { Field } from './field.ts';
import { validateLabels } from './metadata.ts';
import { dnsLabel, dnsSubdomain, labelValue, qualifiedName } from './names.ts';

export function validateLabelSelector(selector: Field): void {
  validateLabels(selector.get('matchLabels'));
  for (const rule of selector.get('matchExpressions').each()) {
    const values = rule.get('values');
    const operator = rule.get('operator');
    if (['In', 'NotIn'].includes(operator.text)) values.require(`is missing beside ${operator.text}`);
    else if (!['Exists', 'DoesNotExist'].includes(operator.text)) operator.report(`${operator.shown} is no operator`);
    else if (values.count > 0) values.report(`does not go with ${operator.text}`);
    rule.get('key').reportAll(qualifiedName(rule.get('key').text));
    for (const value of values.each()) value.reportAll(labelValue(value.text));
  }
}

export function validateAffinity(affinity: Field): void {
  const required = 'requiredDuringSchedulingIgnoredDuringExecution';
  const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';
  const node = affinity.get('nodeAffinity');
  if (node.get(required).isSet) {
    const terms = node.get(required).get('nodeSelectorTerms');
    if (terms.require('needs at least one term')) for (const term of terms.each()) validateNodeTerm(term, true);
  }
  for (const item of node.get(preferred).each()) {
    item.get('weight').range(1, 100);
    validateNodeTerm(item.get('preference'), false);
  }
  for (const kind of ['podAffinity', 'podAntiAffinity']) {
    for (const term of affinity.get(kind).get(required).each()) validatePodTerm(term);
    for (const item of affinity.get(kind).get(preferred).each()) {
      item.get('weight').range(1, 100);
      validatePodTerm(item.get('podAffinityTerm'));
    }
  }
}

/** Values of a preferred term are not looked at, as in Kubernetes. */
function validateNodeTerm(term: Field, checkValues: boolean): void {
  for (const rule of term.get('matchExpressions').each()) {
    const operator = rule.get('operator');
    const values = rule.get('values');
    if (['In', 'NotIn'].includes(operator.text)) values.require(`is missing beside ${operator.text}`);
    else if (['Gt', 'Lt'].includes(operator.text)) {
      if (values.count !== 1) values.report(`needs one value beside ${operator.text}`);
    } else if (!['Exists', 'DoesNotExist'].includes(operator.text)) operator.report(`${operator.shown} is no operator`);
    else if (values.count > 0) values.report(`does not go with ${operator.text}`);
    rule.get('key').reportAll(qualifiedName(rule.get('key').text));
    if (checkValues) for (const value of values.each()) value.reportAll(labelValue(value.text));
  }
  for (const rule of term.get('matchFields').each()) {
    const operator = rule.get('operator');
    if (!['In', 'NotIn'].includes(operator.text)) operator.report(`${operator.shown} is no operator for a field`);
    else if (rule.get('values').count !== 1) rule.get('values').report('needs one value for a field');
    const key = rule.get('key');
    if (key.text !== 'metadata.name') key.report(`${key.shown} is no field to select nodes by`, 'metadata.name');
    else for (const value of rule.get('values').each()) value.reportAll(dnsSubdomain(value.text));
  }
}

function validatePodTerm(term: Field): void {
  validateLabelSelector(term.get('labelSelector'));
  validateLabelSelector(term.get('namespaceSelector'));
  for (const name of term.get('namespaces').each()) name.at(`${term.path}.namespace`).reportAll(dnsLabel(name.text));
  validateLabelKeys(term);
  const key = term.get('topologyKey');
  key.require();
  key.reportAll(qualifiedName(key.text));
}

/** matchLabelKeys and mismatchLabelKeys go with a selector and not with each other. */
function validateLabelKeys(term: Field): void {
  const selector = term.get('labelSelector');
  for (const name of ['matchLabelKeys', 'mismatchLabelKeys']) {
    const keys = term.get(name);
    if (keys.count === 0) continue;
    if (!selector.isSet) keys.report('goes only with a labelSelector');
    else for (const key of keys.each()) key.reportAll(qualifiedName(key.text));
  }
  const keys = term.get('matchLabelKeys').each();
  if (selector.isSet) {
    const taken = new Set(
      selector
        .get('matchLabels')
        .entries()
        .map(([key]) => key),
    );
    for (const rule of selector.get('matchExpressions').each()) {
      const key = rule.get('key').text;
      const index = keys.findLastIndex((item) => item.text === key);
      if (index >= 0 && taken.has(key))
        term.at(`${term.path}[${index}]`).report(`${JSON.stringify(key)} is in matchLabelKeys and in the labelSelector`);
      taken.add(key);
    }
  }
  const mismatched = new Set(
    term
      .get('mismatchLabelKeys')
      .each()
      .map((item) => item.text),
  );
  for (const key of keys) if (mismatched.has(key.text)) key.report(`${key.shown} is in mismatchLabelKeys too`);
}

export function validateTopologySpread(constraints: Field): void {
  const all = constraints.each();
  all.forEach((constraint, i) => {
    const topologyKey = constraint.get('topologyKey');
    const action = constraint.get('whenUnsatisfiable');
    if (constraint.get('maxSkew').number <= 0) constraint.get('maxSkew').report('must be greater than 0');
    topologyKey.require();
    action.oneOf(['DoNotSchedule', 'ScheduleAnyway']);
    const isRepeated = all
      .slice(i + 1)
      .some((other) => other.get('topologyKey').text === topologyKey.text && other.get('whenUnsatisfiable').text === action.text);
    if (isRepeated) constraint.get('{topologyKey, whenUnsatisfiable}').report('is given twice');
    const minDomains = constraint.get('minDomains');
    if (minDomains.isSet && minDomains.number <= 0) minDomains.report('must be greater than 0');
    if (minDomains.isSet && action.text !== 'DoNotSchedule') minDomains.report('goes only with DoNotSchedule');
    for (const name of ['nodeAffinityPolicy', 'nodeTaintsPolicy'])
      if (constraint.get(name).isSet) constraint.get(name).oneOf(['Honor', 'Ignore']);
    validateLabelKeys(constraint);
    validateLabelSelector(constraint.get('labelSelector'));
  });
}
