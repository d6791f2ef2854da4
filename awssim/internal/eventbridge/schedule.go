package eventbridge

import (
	"regexp"
	"strconv"
	"strings"
)

// Schedules are checked and kept; none comes due here (EventBridge user guide, "Setting a schedule
// pattern for scheduled rules").

var rate = regexp.MustCompile(`^rate\(([1-9]\d{0,8}) (minute|hour|day)(s?)\)$`)

// isSchedule reports whether a text is rate(…) or cron(…).
func isSchedule(text string) bool {
	if match := rate.FindStringSubmatch(text); match != nil {
		// "If the value is equal to 1, then the unit must be singular"
		return (match[1] == "1") == (match[3] == "")
	}
	fields, isCron := strings.CutPrefix(text, "cron(")
	fields, closed := strings.CutSuffix(fields, ")")
	return isCron && closed && isCronExpression(strings.Fields(fields))
}

// cronField says what a field of a cron expression may consist of.
type cronField struct {
	form        *regexp.Regexp
	first, last int
}

var cronFields = []cronField{
	{regexp.MustCompile(`^[0-9,\-*/]+$`), 0, 59}, // minutes
	{regexp.MustCompile(`^[0-9,\-*/]+$`), 0, 23}, // hours
	{regexp.MustCompile(`^[0-9,\-*/?LW]+$`), 1, 31},
	{regexp.MustCompile(`^([0-9,\-*/]|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)+$`), 1, 12},
	{regexp.MustCompile(`^([0-9,\-*?L#/]|SUN|MON|TUE|WED|THU|FRI|SAT)+$`), 1, 7},
	{regexp.MustCompile(`^[0-9,\-*/]+$`), 1970, 2199},
}

var numbers = regexp.MustCompile(`(?:^|[,\-])(\d+)`)

// isCronExpression: "You can't specify the Day-of-month and Day-of-week fields in the same cron
// expression. If you specify a value or a * in one of the fields, you must use a ? in the other."
func isCronExpression(fields []string) bool {
	if len(fields) != len(cronFields) || (fields[2] == "?") == (fields[4] == "?") {
		return false
	}
	for i, field := range fields {
		if !cronFields[i].form.MatchString(field) {
			return false
		}
		for _, match := range numbers.FindAllStringSubmatch(field, -1) {
			if n, err := strconv.Atoi(match[1]); err != nil || n < cronFields[i].first || n > cronFields[i].last {
				return false
			}
		}
	}
	return true
}
