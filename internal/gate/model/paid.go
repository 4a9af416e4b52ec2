package model

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/agent-loop/ralph/internal/gate"
	"github.com/agent-loop/ralph/internal/gate/budget"
	"github.com/agent-loop/ralph/internal/gate/meter"
	"github.com/agent-loop/ralph/internal/money"
)

// paid serves a call that costs money: meter, reserve, send, stream, settle.
func (x *exchange) paid(found route, path string) {
	body, release, err := x.readBody()
	if err != nil {
		x.refuseBody(err)
		return
	}
	defer release()
	if body, err = x.steered(found.api, body); err != nil {
		x.refuseSteered(err)
		return
	}
	if body, err = x.up.pinned(body); err == nil {
		body, err = x.limited(found, path, body)
	}
	if err != nil {
		x.refuse(http.StatusBadRequest, CodeBadRequest, err.Error())
		return
	}
	call, price, ok := x.metered(found, path, body)
	if !ok {
		return
	}
	hold, ok := x.reserved(call, price)
	if !ok {
		return
	}
	b := &bill{event: x.event, call: call, price: price, hold: hold}
	x.event.Charge = &gate.Charge{Model: clipModel(call.Model), Reserved: price.Worst(call)}
	defer x.api.settled()
	defer b.close()
	x.perform(path, body, b)
}

// metered reads the call's worst case and finds its price, or refuses.
func (x *exchange) metered(found route, path string, body []byte) (meter.Call, meter.Price, bool) {
	call, err := meter.ReadCallFor(found.model(path), found.api, x.r.Header, body)
	var unbounded *meter.UnboundedError
	switch {
	case x.reaches(call):
		return call, meter.Price{}, false
	case errors.As(err, &unbounded):
		x.refuse(http.StatusForbidden, CodeUnbounded, err.Error())
		return call, meter.Price{}, false
	case err != nil:
		x.refuse(http.StatusBadRequest, CodeBadRequest, err.Error())
		return call, meter.Price{}, false
	}
	call.Regional = call.Regional || x.up.regional()
	price, known := x.api.config.Prices.Find(call.Model)
	if known {
		return call, price, true
	}
	if !x.api.config.UnknownAtDearest {
		x.refuse(http.StatusForbidden, CodeUnknownModel, fmt.Sprintf(
			"the price of the model %q is not known: add it to [[price]], or set budget.unknown_model to \"dearest\"", clipModel(call.Model)))
		return call, meter.Price{}, false
	}
	return call, x.api.config.Prices.Dearest(), true
}

// reaches refuses a call for which the provider would ask other hosts: the agent
// could send data to any of them, past the policy.
func (x *exchange) reaches(call meter.Call) bool {
	if call.Reaches == "" || x.api.config.ProviderMayFetch {
		return false
	}
	x.refuse(http.StatusForbidden, CodeProviderFetch, fmt.Sprintf(
		"the provider would reach other hosts for the agent, because of %.80s: only agent.provider_fetch in the user's own configuration allows that", call.Reaches))
	return true
}

// reserved holds the worst case in the ledger, or refuses.
func (x *exchange) reserved(call meter.Call, price meter.Price) (*budget.Hold, bool) {
	hold, err := x.api.reserve(x.r.Context(), budget.Claim{
		Amount: budget.Amount{USD: price.Worst(call), Tokens: price.WorstTokens(call)},
		Run:    x.api.config.Run,
		Note:   clipModel(call.Model),
	})
	var spent *budget.SpentError
	switch {
	case errors.As(err, &spent):
		x.api.signal(Signal{Kind: BudgetSpent, Provider: x.up.Provider, Detail: spent.Error()})
		x.refuse(http.StatusForbidden, CodeBudgetSpent, spent.Error())
	case err != nil:
		x.refuseLedger(err)
	default:
		return hold, true
	}
	return nil, false
}

// refuseLedger answers when the budget is not known. Why is for the user alone.
func (x *exchange) refuseLedger(err error) {
	x.refuse(http.StatusInternalServerError, CodeLedger, "the budget's ledger does not work: nothing is forwarded")
	x.event.Reason = err.Error()
}

// perform sends the call and reads its usage from the response.
func (x *exchange) perform(path string, body []byte, b *bill) {
	resp, err := x.send(path, body)
	if err != nil {
		if !wasSent(err) {
			b.nothing()
		}
		x.refuseSend(err)
		return
	}
	defer resp.Body.Close()
	x.event.Allowed, x.event.Reason = true, x.up.reason()
	if resp.StatusCode >= 400 {
		if unbilled(resp.StatusCode) {
			b.nothing()
		}
		x.failed(resp)
		return
	}
	reader := meter.NewReader(b.call, resp.Header.Get("Content-Type"))
	x.stream(resp, reader)
	if usage, known, _ := reader.Result(); known {
		usage.Regional = usage.Regional || x.up.regional()
		b.known(usage)
	}
}

// unbilled tells the errors that providers do not charge for. Those of a proxy
// in between, about time or about who went away, say nothing about what the
// provider did.
func unbilled(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound,
		http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusTooManyRequests, http.StatusRequestHeaderFieldsTooLarge,
		http.StatusInternalServerError, http.StatusServiceUnavailable, 529:
		return true
	}
	return false
}

// bill settles one call. Unless it is told otherwise, the worst case stays
// counted.
type bill struct {
	event *gate.Event
	call  meter.Call
	price meter.Price
	hold  *budget.Hold

	usage meter.Usage
	state billState
}

type billState int

const (
	billUncertain billState = iota
	billNothing
	billKnown
)

func (b *bill) nothing() { b.state = billNothing }

func (b *bill) known(u meter.Usage) { b.usage, b.state = u, billKnown }

// close writes the outcome to the ledger and to the event.
func (b *bill) close() {
	charge := b.event.Charge
	var err error
	switch b.state {
	case billNothing:
		err = b.hold.Release()
	case billKnown:
		charge.Input, charge.CacheRead, charge.Output = b.usage.Input, b.usage.CacheRead, b.usage.Output
		charge.CacheWrite = b.usage.CacheWrite5m + b.usage.CacheWrite1h
		charge.Cost = b.cost()
		err = b.hold.Settle(budget.Amount{USD: charge.Cost, Tokens: b.usage.Tokens()})
	default:
		charge.Cost, charge.Uncertain = charge.Reserved, true
		err = b.hold.Forfeit(budget.Amount{})
	}
	if err != nil { // the hold stays counted in full
		b.event.Reason += "; settling: " + err.Error()
	}
}

func (b *bill) cost() money.USD { return b.price.Cost(b.usage) }

// clipModel bounds a name from inside the sandbox.
func clipModel(name string) string { return clip(name, 128) }
